import { connect, type Socket } from 'node:net';

/** One request of a bulk load. */
export interface LoadRequest {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body: string;
}

const CONNECTIONS = 128;

/**
 * Sends requests over many connections, one at a time on each, and checks every answer. It uses plain sockets, because
 * a full HTTP client takes more processor time than the server.
 *
 * @param requests taken one by one as connections become free
 * @param onAnswer called with the body of each answer and its request
 * @throws {Error} for the first answer that is not 2xx
 */
export async function sendAll(
  port: number,
  token: string,
  requests: Iterator<LoadRequest>,
  onAnswer: (body: string, request: LoadRequest) => void = () => {},
): Promise<void> {
  const head = `\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: `;
  await Promise.all(Array.from({ length: CONNECTIONS }, () => runConnection(port, head, requests, onAnswer)));
}

function runConnection(
  port: number,
  head: string,
  requests: Iterator<LoadRequest>,
  onAnswer: (body: string, request: LoadRequest) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let current: LoadRequest | undefined;
    let pending = '';
    const next = (): void => {
      const { value, done } = requests.next();
      if (done) {
        socket.end();
        resolve();
        return;
      }
      current = value as LoadRequest;
      const { method, path, body } = current;
      socket.write(`${method} ${path} HTTP/1.1${head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    };
    socket.setEncoding('latin1');
    socket.on('connect', next);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (chunk: string) => {
      pending += chunk;
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(pending.slice(0, end + 2))?.[1] ?? 0);
      if (pending.length < end + 4 + length) return;
      const body = pending.slice(end + 4);
      if (pending[9] !== '2') {
        reject(new Error(`${current?.method} ${current?.path}: ${pending.slice(9, 12)} ${body}`));
        socket.destroy();
        return;
      }
      pending = '';
      onAnswer(body, current as LoadRequest);
      next();
    });
  });
}
