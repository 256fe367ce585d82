/**
 * Updates articles, or creates them, at a constant rate until its standard input ends. It prints an empty line when the
 * first write was answered, and at the end one line of JSON: when each write was due and when it was answered, in
 * milliseconds since 1970.
 *
 * A write is due at its time regardless of earlier ones, and waits in a queue when no connection is free. The
 * latencies therefore include every request that would have arrived while the server was stalled.
 *
 * Run: npx node bench/generators/paced-writes.ts <port> <token> <articles> <connections> <writes a second> <update|create>
 */
import { Agent, request } from 'node:http';
import { articleBody, articleProperties, articleUrl, nodesUrl } from '../support/corpus.ts';

const [port, token = '', articles, connections, perSecond, kind] = process.argv.slice(2);
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

interface Write {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body: string;
}

function update(): Write {
  const path = articleUrl(nodesUrl, (sent * STRIDE) % Number(articles));
  return { method: 'PUT', path, body: JSON.stringify({ properties: articleProperties(sent) }) };
}

/** An article at the root, with a name of this process. */
function creation(): Write {
  return { method: 'POST', path: `${nodesUrl}/`, body: articleBody(`w-${process.pid}-${sent}`, sent) };
}

function send(dueMs: number): void {
  const { method, path, body } = kind === 'create' ? creation() : update();
  open += 1;
  const call = request(
    {
      host: '127.0.0.1',
      port: Number(port),
      method,
      path,
      agent,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    },
    (response) => {
      if (response.statusCode !== 200 && response.statusCode !== 201)
        throw new Error(`a write was answered ${response.statusCode}`);
      response.resume();
      response.on('end', () => {
        if (answered.length === 0) process.stdout.write('\n');
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
