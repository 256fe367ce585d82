import type { JobScope } from '#runtime/jobs/ports.ts';
import type { TestResponse } from './http-client.ts';
import type { TestServer } from './server.ts';

type Json = TestResponse['json'];

/**
 * Time after which a test does not wait for a job any longer, in milliseconds. It is longer than the lease of a ticket,
 * 30 s: one that was lost on its way to a stalled member comes again then.
 */
const PATIENCE_MS = 40_000;

/** The background jobs of a tenant, over HTTP. */
export class JobsClient {
  readonly #server: TestServer;
  readonly #token: string;

  constructor(server: TestServer, token: string) {
    this.#server = server;
    this.#token = token;
  }

  /** A request below `/management/jobs`. */
  send(method: string, rest = '', body?: unknown): Promise<TestResponse> {
    const options = body === undefined ? { token: this.#token } : { token: this.#token, body };
    return this.#server.request(method, `/management/jobs${rest}`, options);
  }

  /** The data of an answer, which must be a success. */
  async data(method: string, rest = '', body?: unknown): Promise<Json> {
    const answer = await this.send(method, rest, body);
    if (answer.status !== 200) throw new Error(`${method} ${rest}: ${answer.status} ${answer.text}`);
    const { data, error, success } = answer.json;
    if (success !== true || error !== null) throw new Error(`not a success: ${answer.text}`);
    return data;
  }

  /** The newest job of a type and subject, as in `RevisionHistoryCopy(blog/dev)`. */
  async named(jobType: string): Promise<Json> {
    const jobs: Json[] = await this.data('GET', '?limit=1000');
    return jobs.find((job) => job.job_type === jobType);
  }

  /** The job as soon as it is as expected. */
  async until(id: string, isReached: (job: Json) => boolean): Promise<Json> {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const job = await this.data('GET', `/${id}/info`);
      if (isReached(job)) return job;
      if (Date.now() > until) throw new Error(`the job stays ${JSON.stringify(job)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The job as soon as it is final. */
  ended(id: string): Promise<Json> {
    return this.until(id, ({ status }) => status !== 'Scheduled' && status !== 'Running');
  }

  /** Where the jobs of a repository are. */
  async scope(repository: string): Promise<JobScope> {
    const folders = await this.#server.actorFolders('default');
    const part = folders.find((name) => name.startsWith(`${repository}~`)) as string;
    return `default/${part}`;
  }
}
