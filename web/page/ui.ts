// SPDX-License-Identifier: GPL-2.0-only
// What the parts of the page are made of: elements, tables, drawings.

export const $ = (id: string) => document.getElementById(id)!;

// An element of @tag with @props and @children. Texts are never read as HTML.
export function el(tag: string, props: Record<string, any> = {}, ...children: (Node | string)[]): any {
  const node: any = document.createElement(tag);
  for (const [name, value] of Object.entries(props))
    name in node ? node[name] = value : node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const colour = (pid: number) => `hsl(${(pid * 137.5) % 360} 62% 52%)`;
export const cpusInWords = (nr: number) => nr === 1 ? '1 CPU' : `${nr} CPUs`;
export const ms = (ns: number, digits = 3) => (ns / 1e6).toFixed(digits);
// @name is for those who do not see what the table stands below.
export function table(name: string, head: string[], rows: (Node | string)[][], chosen = -1) {
  return el('table', {ariaLabel: name}, el('thead', {}, el('tr', {}, ...head.map((text) => el('th', {scope: 'col'}, text)))),
    el('tbody', {}, ...rows.map((row, i) => el('tr', {className: i === chosen ? 'chosen' : ''}, ...row.map((cell) => el('td', {}, cell))))));
}

export const named = (pid: number, text: string) => el('span', {}, el('span', {className: 'dot', style: `background:${colour(pid)}`}), text);

export function svg(width: number, height: number, name: string) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const add = (tag: string, props: Record<string, any>, text = '') => {
    const child = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(props))
      child.setAttribute(key, String(value));
    child.textContent = text;
    node.append(child);
    return child;
  };
  node.setAttribute('viewBox', `0 0 ${width} ${height}`);
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', name);
  return {node, add};
}
