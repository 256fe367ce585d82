import { OperatorError, UsageError } from './operator-error.ts';

/** Timeout of a request, in milliseconds. */
const REQUEST_MS_MAX = 15_000;

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  /** The body as JSON; undefined when it is no JSON. */
  readonly json: unknown;
}

/** Client of the REST interface for the tools of administrators. */
export class AdminClient {
  readonly #url: string;
  #token: string | undefined;

  /** @throws {UsageError} when `url` is no address of a server */
  constructor(url: string, token?: string) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new UsageError(`'${url}' is no address of a server. It looks like http://127.0.0.1:8080.`);
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  /**
   * Logs in to tenant `default`.
   *
   * @returns whether the service accepts the password
   * @throws {OperatorError} when it does not answer, or with another error
   */
  async logIn(username: string, password: string): Promise<boolean> {
    const { json, status } = await this.send('POST', '/api/svc/sys/default/auth', { username, password });
    if (status === 401) return false;
    const token = (json as { readonly token?: unknown } | undefined)?.token;
    if (status !== 200 || typeof token !== 'string') throw this.#odd('the login', status, json);
    this.#token = token;
    return true;
  }

  /**
   * @param answerMs timeout of the answer, in milliseconds
   * @throws {OperatorError} when the server does not answer
   */
  async send(method: string, path: string, body?: unknown, answerMs = REQUEST_MS_MAX): Promise<Answer> {
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        },
        signal: AbortSignal.timeout(answerMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, json: parsed(await response.text()) };
    } catch (cause) {
      throw new OperatorError(`${this.#url} does not answer (${reasonOf(cause)}).`, { cause });
    }
  }

  /**
   * Reads a page that only administrators of the system may read.
   *
   * @param answerMs as for {@link send}
   * @throws {OperatorError} that names the required permission, or the unexpected answer
   */
  async read(path: string, answerMs?: number): Promise<unknown> {
    const { json, status } = await this.send('GET', path, undefined, answerMs);
    if (status === 401)
      throw new OperatorError(`${this.#url} does not take this token; it may have expired.`);
    if (status === 403) throw new OperatorError('Only administrators of tenant default may see this.');
    if (status !== 200) throw this.#odd(path, status, json);
    return json;
  }

  #odd(what: string, status: number, json: unknown): OperatorError {
    const said = json === undefined ? '' : `: ${JSON.stringify(json).slice(0, 300)}`;
    return new OperatorError(`${this.#url} answers ${what} with ${status}${said}. Is it a Grove server?`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause as NodeJS.ErrnoException | undefined;
  return inner?.code ?? inner?.message ?? cause.message;
}
