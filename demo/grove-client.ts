/** An error whose message is complete for the user; it is printed without a stack. */
export class DemoError extends Error {}

/** The arguments are invalid. */
export class DemoUsageError extends DemoError {}

/** A completely received answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Timeout of a request, in milliseconds. */
const REQUEST_MS_MAX = 30_000;

/** Client of the part of the REST interface that the demo uses. */
export class GroveClient {
  readonly #url: string;
  #token = '';

  /** @throws {DemoError} when `url` is no address of a server */
  constructor(url: string) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
      throw new DemoError(
        `GROVE_URL is no address of a server: '${url}'. It looks like http://127.0.0.1:8080.`,
      );
    }
    this.#url = url.replace(/\/+$/, '');
  }

  /**
   * Logs in as `admin`.
   *
   * @throws {DemoError} with instructions when there is no server or the password is wrong
   */
  async logIn(password: string): Promise<void> {
    const login = await this.send('POST', '/api/svc/sys/default/auth', { username: 'admin', password });
    if (login.status === 401) {
      throw new DemoError(
        `${this.#url} does not take this password for admin.\n` +
          'Set GROVE_PASSWORD to the one the server printed at its first start, or to the SVC_ADMIN_PASSWORD it was first started with.',
      );
    }
    if (login.status !== 200) {
      throw new DemoError(
        `${this.#url} answered the login with ${login.status}: ${login.text.slice(0, 300)}\nIs it a Grove server?`,
      );
    }
    this.#token = (JSON.parse(login.text) as { token: string }).token;
  }

  /**
   * Sends a request.
   *
   * @throws {DemoError} with instructions when the server does not answer
   */
  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(this.#token === '' ? {} : { authorization: `Bearer ${this.#token}` }),
        },
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      throw new DemoError(`${this.#whatHappened(error)}\nStart a server in another terminal and run this again:

  SVC_ADMIN_PASSWORD='Tour-guide-2026' npm start

  GROVE_PASSWORD='Tour-guide-2026' npm run demo

(GROVE_URL says where it is, if not at http://127.0.0.1:8080.) What is imported already stays.`);
    }
  }

  /**
   * Sends a request that must succeed.
   *
   * @returns the JSON of the answer @throws {DemoError} with the text of the answer
   */
  async json<Result>(method: string, path: string, body?: unknown): Promise<Result> {
    const { status, text } = await this.send(method, path, body);
    if (status >= 300) throw new DemoError(`${method} ${path} was answered ${status}: ${text.slice(0, 500)}`);
    return (text === '' ? undefined : JSON.parse(text)) as Result;
  }

  #whatHappened(error: unknown): string {
    const cause = error instanceof Error ? error.cause : undefined;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'ECONNREFUSED') return `No server answers at ${this.#url}.`;
    if (error instanceof DOMException)
      return `${this.#url} did not answer within ${REQUEST_MS_MAX / 1000} s.`;
    const reason = code || (cause instanceof Error ? cause.message : String(error));
    return `The connection to ${this.#url} failed (${reason}).`;
  }
}
