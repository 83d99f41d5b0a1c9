// SPDX-License-Identifier: GPL-2.0-only
// All texts of the page: a translation is another table.

export const TEXT = {
  title: 'Fairground', subtitle: 'the scheduler, decision by decision',
  workload: 'Workload, as for schedsim', example: 'Example', cpus: 'CPUs', ms: 'Simulated ms', run: 'Run', running: 'Running ...',
  stop: 'Stop', stopped: 'The run was stopped.', previous: '◀ Previous', next: 'Next ▶', slider: 'Decision',
  help: 'Arrow keys step by decision, Page Up and Page Down by 20. A click on the timeline goes to that moment; one on a ' +
    'name chooses the policy to step through. A file of decisions (schedsim --decisions FILE.json) can be dropped here.',
  decision: 'The decision', shares: 'Shares and waits', whatif: 'What if?', change: 'From this moment on', fork: 'Fork here',
  policy: 'policy', tunable: 'tunable', nice: 'nice', value: 'Value: PID=NICE or NAME=VALUE',
  task: 'task', share: 'share %', got: 'ran ms', waits: 'waits', mean: 'mean ms', longest: 'longest ms',
  vruntime: 'vruntime', deadline: 'deadline', lag: 'lag at sleep', weight: 'weight', score: 'score', notes: '', after: 'after',
  same: 'Both futures are the same to the end.', differs: 'The first decision that differs:', now: 'as it was', then: 'instead',
  idle: 'idle', because: 'because', choosePolicy: 'Choose a policy.', limit: 'The page takes at most 64 CPUs and 10,000 ms.',
  notFile: 'This is not a file of decisions: ', cutOff: 'its last line is cut off.', noSchema: 'its first line has no schema ' +
    'fairground-decisions/2.', badLink: 'The link is cut off or damaged; it was ignored.', tooMany: 'More than 200,000 ' +
    'decisions: the run is shown up to there. Simulate less time to see all.', tree: 'The tree of those that wait',
  line: 'Virtual time, ms from V: circles stand for entities, filled if eligible; triangles for deadlines',
};

export const KINDS: Record<string, string> = {
  pick: 'Who runs next?', preempt: 'Does the woken task take over?', tick: 'Is the turn over?', place: 'Where does it enter?',
  charge: 'It is charged for its run', leave: 'It leaves the queue', select: 'On which CPU?', balance: 'Should tasks move?',
  class: 'A real-time or deadline class decides', quota: 'A quota moves', pool: 'The pool of a quota',
};

export const EXAMPLES: Record<string, string> = {
  'Hogs and a sleeper': 'hogs:n=2 bursts:run=2ms,sleep=10ms',
  'Nice values': 'hogs:n=1 hogs:n=1,nice=5 hogs:n=1,nice=10',
  'Messages (schbench)': 'messages:n=1,workers=4,run=2ms',
  'Pipes (hackbench)': 'pipes:groups=1,pairs=2',
  'Groups and a quota': 'group:name=a,quota=10ms,period=50ms hogs:n=2,group=a hogs:n=2',
  'Requests': 'requests:workers=3 hogs:n=2',
  'Slices of one\'s own': 'hogs:n=2,slice=10ms bursts:run=1ms,sleep=4ms,slice=1ms',
};

export const FLAGS: [number, string][] = [[0x1, 'runs'], [0x2, 'delayed'], [0x4, 'idle class'], [0x8, 'eligible'],
  [0x10, 'protected'], [0x20, 'used up'], [0x40, 'next buddy'], [0x80, 'last buddy'], [0x100, 'yielded'], [0x200, 'own deadline']];
