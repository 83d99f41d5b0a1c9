// SPDX-License-Identifier: GPL-2.0-only
// Run Perfetto's trace processor, as its web page does, under Node: requests come on stdin, replies leave on stdout.
// The page's own program (engine_bundle.js) expects to be a worker of a browser. This gives it the few things of one
// that it uses. The bytes are those of TraceProcessorRpcStream; trace_processor.py speaks them.
//
// Usage: node trace_processor.js DIRECTORY, where DIRECTORY holds engine_bundle.js and trace_processor.wasm
'use strict';

const fs = require('fs');
const path = require('path');

const directory = process.argv[2];
const port = {
  postMessage(reply) {
    fs.writeSync(1, reply);
  },
};

class XMLHttpRequest {
  open(method, name) {
    this.file = path.join(directory, path.basename(name));
  }

  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

const program = fs.readFileSync(path.join(directory, 'engine_bundle.js'), 'utf8');
const worker = {location: {href: 'http://localhost/engine_bundle.js'}};
const quiet = {...console, log() {}, warn() {}};
new Function('self', 'process', 'WorkerGlobalScope', 'XMLHttpRequest', 'console', program)(
    worker, undefined, worker, XMLHttpRequest, quiet);
worker.onmessage({data: port});
process.stdin.on('data', (bytes) => port.onmessage({data: new Uint8Array(bytes)}));
