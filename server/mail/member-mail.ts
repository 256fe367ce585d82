import type { WaitingLink } from '#actors/identities/link-messages.ts';
import type {
  IdentitiesCommand,
  IdentitiesQuery,
  Identity,
  ReadConfiguration,
} from '#actors/identities/messages.ts';
import type { FindRepository } from '#actors/tenant/messages.ts';
import type { EmailSetup, EmailSetups } from '#protocols/identity/email-setups.ts';
import { linkAddress, newLinkToken } from '#protocols/identity/link-token.ts';
import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Timer } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import { registeredTenants } from '#server/registry/registered-repositories.ts';
import { loginLinkMail, type Mail } from './login-link-mail.ts';
import { deliver, type DeliveryContext } from './smtp-delivery.ts';

/** Mails that a member sends at once. */
const AT_ONCE_MAX = 16;

/** Mails of one tenant that a member sends at once, so that slow mail servers of one leave room for others. */
const AT_ONCE_PER_TENANT_MAX = 4;

/** Waits before a mail that could not be sent is tried again. */
const RETRIES: Backoff = { firstMs: 2_000, factor: 3, mostMs: 120_000 };

/** Time after which links that could not be read after a start are read again, in milliseconds. */
const TAKE_UP_RETRY_MS = 5_000;

/** Least time between two lines about failures, in milliseconds. */
const BETWEEN_LINES_MS = 1_000;

/** Dependencies of the mail of a member. */
export interface MemberMailEnvironment extends DeliveryContext {
  readonly router: Router;
  readonly lifecycle: Pick<ActorLifecycle, 'exists'>;
  readonly setups: EmailSetups;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A link that this member is to send. */
interface Task {
  readonly tenant: string;
  readonly id: string;
  /** Attempts that have failed. */
  failed: number;
  retry: Timer | undefined;
}

/**
 * Sends the mail of the tenants whose identities this member owns: the job `send-magic-link`. What is to be sent is stored
 * with the identities, and removed when it is sent, so another member goes on with it. A mail may be sent twice, when a
 * member ends between the answer of the mail server and the commit; each has a link of its own then.
 *
 * @see docs/decisions/0073-magic-links.md
 */
export class MemberMail {
  readonly #environment: MemberMailEnvironment;
  /** Tasks that are under way, waiting or to be tried again, by tenant and id. */
  readonly #tasks = new Map<string, Task>();
  /** Tasks that wait for their turn, by tenant. The tenant that had a turn goes to the end. */
  readonly #waiting = new Map<string, Task[]>();
  readonly #running = new Map<string, number>();
  readonly #ended = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #taking: Promise<void> = Promise.resolve();
  #again: Timer | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;
  #untold = 0;
  readonly #sent: { add(): void };
  readonly #failures: { add(): void };
  readonly #dropped: { add(): void };

  constructor(environment: MemberMailEnvironment) {
    this.#environment = environment;
    const { metrics } = environment;
    this.#sent = metrics.counter('svc_mails_sent_total', 'Mails that a mail server has taken.');
    this.#failures = metrics.counter('svc_mail_failures_total', 'Attempts to send a mail that failed.');
    this.#dropped = metrics.counter('svc_mails_dropped_total', 'Mails that were given up.');
    metrics.gauge('svc_mails_waiting', 'Mails that this member is to send.', () => this.#tasks.size);
  }

  /** Links of a tenant of this member are to be sent. */
  waiting(actor: ActorId, ids: readonly string[]): void {
    if (this.#stopping.signal.aborted) return;
    const tenant = decodeURIComponent(actor.split('/')[0] as string);
    for (const id of ids) {
      const key = keyOf(tenant, id);
      if (this.#tasks.has(key)) continue;
      const task: Task = { tenant, id, failed: 0, retry: undefined };
      this.#tasks.set(key, task);
      this.#enqueue(task);
    }
    this.#begin();
  }

  /** Takes up in the background what tenants of which this member became the owner are to send. */
  takeUp(isMine: (actor: ActorId) => boolean): void {
    this.#taking = this.#taking.then(() => this.#takeUp(isMine));
  }

  /** Sends nothing more. What is not sent is taken up at the next start, or by the next owner. */
  async close(): Promise<void> {
    this.#stopping.abort(new ServiceError('SHUTTING_DOWN'));
    this.#again?.cancel();
    for (const { retry } of this.#tasks.values()) retry?.cancel();
    this.#waiting.clear();
    await Promise.all([...this.#ended, this.#taking]);
    this.#tasks.clear();
  }

  async #takeUp(isMine: (actor: ActorId) => boolean): Promise<void> {
    const { clock, lifecycle, log, router } = this.#environment;
    try {
      for (const tenant of await registeredTenants(router)) {
        if (this.#stopping.signal.aborted) return;
        const actor = actorId(tenant, 'identities');
        if (!isMine(actor) || !(await lifecycle.exists(actor))) continue;
        const links = await this.#query<readonly WaitingLink[]>(tenant, { type: 'ListWaitingLinks' });
        this.waiting(
          actor,
          links.map(({ id }) => id),
        );
      }
    } catch (error) {
      // Before the first start of a cluster is complete there is no tenant yet, hence no mail.
      if (this.#stopping.signal.aborted || (error instanceof ServiceError && error.code === 'NOT_FOUND'))
        return;
      log.warn('mails of earlier processes could not be read; it is tried again', { error });
      this.#again?.cancel();
      this.#again = clock.after(TAKE_UP_RETRY_MS, () => this.takeUp(isMine));
    }
  }

  #enqueue(task: Task): void {
    const waiting = this.#waiting.get(task.tenant);
    if (waiting === undefined) this.#waiting.set(task.tenant, [task]);
    else waiting.push(task);
  }

  /** Begins as many tasks as there is room for, of one tenant after the other. */
  #begin(): void {
    while (this.#ended.size < AT_ONCE_MAX) {
      const tenant = [...this.#waiting.keys()].find(
        (each) => (this.#running.get(each) ?? 0) < AT_ONCE_PER_TENANT_MAX,
      );
      if (tenant === undefined) return;
      const tasks = this.#waiting.get(tenant) as Task[];
      const task = tasks.shift() as Task;
      this.#waiting.delete(tenant);
      if (tasks.length > 0) this.#waiting.set(tenant, tasks);
      this.#running.set(tenant, (this.#running.get(tenant) ?? 0) + 1);
      const ended = this.#run(task).finally(() => {
        this.#ended.delete(ended);
        const left = (this.#running.get(tenant) ?? 1) - 1;
        if (left > 0) this.#running.set(tenant, left);
        else this.#running.delete(tenant);
        this.#begin();
      });
      this.#ended.add(ended);
    }
  }

  /** Never rejects. */
  async #run(task: Task): Promise<void> {
    const { clock, random } = this.#environment;
    try {
      await this.#send(task);
      this.#tasks.delete(keyOf(task.tenant, task.id));
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#tellFailure(task.tenant, error);
      task.retry = clock.after(backoffMs(RETRIES, task.failed, random), () => {
        task.retry = undefined;
        this.#enqueue(task);
        this.#begin();
      });
      task.failed += 1;
    }
  }

  /** Writes at most a line in a while: a mail server that is down fails for every mail. */
  #tellFailure(tenant: string, error: unknown): void {
    const { clock, log } = this.#environment;
    this.#failures.add();
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#toldMs < BETWEEN_LINES_MS) {
      this.#untold += 1;
      return;
    }
    const facts =
      error instanceof ServiceError ? { code: error.code, text: error.message, ...error.details } : { error };
    log.warn('a login link could not be sent; it is tried again while it is valid', {
      tenant,
      leftOut: this.#untold,
      ...facts,
    });
    this.#toldMs = nowMs;
    this.#untold = 0;
  }

  /** Sends a link, or finds that it is not to be sent. @throws when it is to be tried again */
  async #send({ id, tenant }: Task): Promise<void> {
    const { clock, setups } = this.#environment;
    const link = await this.#query<WaitingLink | undefined>(tenant, { type: 'FindWaitingLink', id });
    if (link === undefined) return;
    if (link.expires_ms <= clock.wallMs()) return await this.#drop(tenant, link, 'it was not sent in time');
    const { configuration } = await this.#query<ReadConfiguration>(tenant, { type: 'ReadAuthentication' });
    const setup = setups.of(tenant, configuration);
    if (setup === undefined || !configuration.magic_link.enabled)
      return await this.#drop(tenant, link, 'mail or links are not configured any more');
    const email = link.email;
    const identity = await this.#query<Identity | undefined>(tenant, { type: 'FindIdentity', email });
    // The person who asked is told the same either way.
    if (identity?.is_active !== true || !(await this.#hasRepository(tenant, link.repository)))
      return await this.#end(tenant, id);
    const outcome = await deliver(
      this.#environment,
      setup.server(),
      new URL(setup.origin).hostname,
      () => this.#compose(tenant, link, identity, setup, configuration),
      this.#stopping.signal,
    );
    if (outcome === 'refused') return await this.#drop(tenant, link, 'the mail server refuses it');
    if (outcome === 'sent') this.#sent.add();
    await this.#end(tenant, id);
  }

  /** Makes the token and the mail that has it. @returns undefined when another member has sent it meanwhile */
  async #compose(
    tenant: string,
    { id, landing, repository }: WaitingLink,
    { email }: Identity,
    setup: EmailSetup,
    { magic_link: links }: AuthConfiguration,
  ): Promise<Mail | undefined> {
    const { clock, random } = this.#environment;
    if ((await this.#query(tenant, { type: 'FindWaitingLink', id })) === undefined) return undefined;
    const { hash, token } = newLinkToken(tenant, random);
    const payload: JsonObject = { landing, repository };
    await this.#command(tenant, {
      type: 'IssueOneTimeToken',
      kind: 'magic_link',
      email,
      tokenHash: hash,
      payload,
    });
    const nowMs = clock.wallMs();
    return await loginLinkMail(setup.server(), {
      // The address of the account, which may differ in case from the one that was typed.
      to: email,
      link: linkAddress(setup.origin, repository, token),
      site: new URL(landing).host,
      minutes: links.token_ttl_minutes,
      nowMs,
      id: uuidV7(nowMs, random),
    });
  }

  async #hasRepository(tenant: string, name: string | null): Promise<boolean> {
    if (name === null) return true;
    const query: FindRepository = { type: 'FindRepository', repositoryId: name };
    const { router } = this.#environment;
    return (await router.query(actorId(tenant, 'tenant'), query, engineCaller(tenant))) !== undefined;
  }

  async #drop(tenant: string, { id }: WaitingLink, reason: string): Promise<void> {
    this.#dropped.add();
    this.#environment.log.warn('a login link is not sent', { tenant, reason });
    await this.#end(tenant, id);
  }

  async #end(tenant: string, id: string): Promise<void> {
    await this.#command(tenant, { type: 'EndLink', id });
  }

  async #query<Answer>(tenant: string, query: IdentitiesQuery): Promise<Answer> {
    const { router } = this.#environment;
    return (await router.query(actorId(tenant, 'identities'), query, engineCaller(tenant))) as Answer;
  }

  async #command(tenant: string, command: IdentitiesCommand): Promise<void> {
    const caller = engineCaller(tenant);
    await this.#environment.router.command(actorId(tenant, 'identities'), command, { caller });
  }
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}
