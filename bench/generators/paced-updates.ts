/**
 * Updates articles at a constant rate until its standard input ends. Then it prints one line of JSON: when each update
 * was due and when it was answered, in milliseconds since 1970.
 *
 * An update is due at its time regardless of earlier updates, and waits in a queue when no connection is free. The
 * latencies therefore include every request that would have arrived while the server was stalled.
 *
 * Run: npx node bench/generators/paced-updates.ts <port> <token> <articles> <connections> <updates a second>
 */
import { Agent, request } from 'node:http';
import { articleProperties, articleUrl, nodesUrl } from '../support/corpus.ts';

const [port, token = '', articles, connections, perSecond] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections), scheduling: 'fifo' });
const intervalMs = 1000 / Number(perSecond);
/** A prime above any number of connections, so that concurrent updates are of different articles. */
const STRIDE = 7_919;

const answered: [dueMs: number, doneMs: number][] = [];
let sent = 0;
let open = 0;
let isEnding = false;

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function send(dueMs: number): void {
  const number = (sent * STRIDE) % Number(articles);
  const body = JSON.stringify({ properties: articleProperties(sent) });
  open += 1;
  const call = request(
    {
      host: '127.0.0.1',
      port: Number(port),
      method: 'PUT',
      path: articleUrl(nodesUrl, number),
      agent,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    },
    (response) => {
      if (response.statusCode !== 200) throw new Error(`an update was answered ${response.statusCode}`);
      response.resume();
      response.on('end', () => {
        answered.push([dueMs, nowMs()]);
        open -= 1;
        endWhenDone();
      });
    },
  );
  call.end(body);
  sent += 1;
}

function endWhenDone(): void {
  if (!isEnding || open > 0) return;
  process.stdout.write(`${JSON.stringify(answered)}\n`);
  agent.destroy();
}

const startMs = nowMs();
const timer = setInterval(() => {
  for (let dueMs = startMs + sent * intervalMs; dueMs <= nowMs(); dueMs = startMs + sent * intervalMs)
    send(dueMs);
}, 1);
process.stdin.resume();
process.stdin.on('end', () => {
  clearInterval(timer);
  isEnding = true;
  endWhenDone();
});
