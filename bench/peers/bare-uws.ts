/**
 * The upper bound: uWebSockets.js answers every GET, and every POST after its body, with constant bytes.
 *
 * Run: npx node bench/peers/bare-uws.ts <port> <file with the body>
 */
import { readFileSync } from 'node:fs';
import { App } from 'uWebSockets.js';

const [port, file] = process.argv.slice(2);
const body = readFileSync(file as string);

App()
  .get('/*', (response) => {
    response.writeHeader('Content-Type', 'application/json').end(body);
  })
  .post('/*', (response) => {
    response.onAborted(() => {});
    response.onData((_chunk, isLast) => {
      if (isLast) response.writeHeader('Content-Type', 'application/json').end(body);
    });
  })
  .listen('127.0.0.1', Number(port), (socket) => {
    if (!socket) throw new Error(`port ${port} is taken`);
    process.stdout.write('ready\n');
  });
