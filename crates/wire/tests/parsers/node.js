// Node's own HTTP parser over request heads: one in hexadecimal digits per line of standard input,
// one line of outcome each on standard output. Nothing goes over a network: `http.Server` takes
// any stream for a connection.
'use strict';
const http = require('node:http');
const readline = require('node:readline');
const { Duplex } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');

function framing(headers) {
  if (headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = headers['content-length'];
  return length === undefined ? 'none' : `length=${BigInt(length)}`;
}

async function outcome(bytes) {
  let found = null;
  let wrote = '';
  const take = (request, response) => {
    const kept = response.shouldKeepAlive === undefined ? '?' : response.shouldKeepAlive;
    found ??= `take ${request.method} ${request.url} ${request.httpVersion} ` +
      `${framing(request.headers)} keep=${kept}`;
  };
  const server = http.createServer(take);
  for (const event of ['connect', 'upgrade', 'checkContinue', 'checkExpectation']) {
    server.on(event, take);
  }
  server.on('clientError', (error) => { found ??= `refuse ${error.code}`; });
  const connection = new Duplex({
    read() {},
    write(chunk, encoding, done) { wrote += chunk.toString('latin1'); done(); },
  });
  connection.on('error', () => {});
  server.emit('connection', connection);
  connection.push(bytes);
  for (let i = 0; i < 4; i += 1) await turn();
  // A missing Host field is answered without asking anybody.
  if (found === null && wrote.startsWith('HTTP/1.1 400')) found = 'refuse 400';
  connection.destroy();
  return found ?? 'more';
}

(async () => {
  console.log(process.version);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await outcome(Buffer.from(line, 'hex')));
  }
})();
