import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';

/** How long a connection is kept that nobody uses, in milliseconds. */
const IDLE_MS_MAX = 5_000;

/** What a request of a test may carry. */
export interface TestRequest {
  readonly token?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is; wins over `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Time after which it fails; default: {@link TIMEOUT_MS}. */
  readonly timeoutMs?: number;
}

/** An answer, whole. */
export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; throws when it is not. As loosely typed as parsing is: its shape is what tests state. */
  readonly json: ReturnType<JSON['parse']>;
}

/** Time after which a request fails instead of hanging a test, in milliseconds. */
const TIMEOUT_MS = 20_000;

/**
 * An HTTP client that sends paths exactly as they are written: no normalising of `..`, `%2F` or spaces, which
 * is what half of the tests are about.
 */
export class HttpClient {
  readonly #port: number;
  // Let go of before the server does, after 10 s: a request would meet a connection that is being closed.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_MS_MAX });

  constructor(port: number) {
    this.#port = port;
  }

  request(method: string, path: string, options: TestRequest = {}): Promise<TestResponse> {
    const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const headers: Record<string, string | number> = { ...options.headers };
    const timeout = options.timeoutMs ?? TIMEOUT_MS;
    if (options.token !== undefined) headers.authorization = `Bearer ${options.token}`;
    if (payload !== undefined) {
      headers['content-type'] ??= 'application/json';
      headers['content-length'] ??= Buffer.byteLength(payload);
    }
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        {
          host: '127.0.0.1',
          port: this.#port,
          method,
          path,
          headers,
          agent: this.#agent,
          timeout,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const text = bytes.toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes,
              text,
              get json() {
                return JSON.parse(text);
              },
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} took more than ${timeout} ms`)));
      sent.on('error', reject);
      sent.end(payload);
    });
  }

  /** Closes kept-alive connections. */
  close(): void {
    this.#agent.destroy();
  }
}
