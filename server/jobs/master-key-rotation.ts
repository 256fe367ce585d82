import type { ReadAuthentication, ReadConfiguration, ReplaceSecrets } from '#actors/identities/messages.ts';
import { resealedSecrets } from '#protocols/identity/resealed-secrets.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { type Backoff, Retries } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { SecretBox } from '#runtime/config/secret-box.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { SharedRotation } from '#server/engine/engine.ts';
import { checkRepeatedly } from '#server/host/repeated-check.ts';
import { registeredTenants } from '#server/registry/registered-repositories.ts';

/** Waits after a failure. Nothing else depends on the end of a rotation, so it is tried until it succeeds. */
const RETRIES: Backoff = { firstMs: 500, factor: 2, mostMs: 60_000 };

/** Maximum number of partitions that are named. */
const NAMED_MAX = 8;

/** Dependencies of {@link MasterKeyRotation}. */
export interface MasterKeyRotationEnvironment {
  readonly router: Router;
  /** Opens texts of both keys. */
  readonly box: SecretBox;
  /** Origin of the previous key, for people; undefined when there is none, so that there is nothing to do. */
  readonly previousSource: string | undefined;
  /** Records that nothing is encrypted with the previous key any more. */
  readonly dropPrevious: () => Promise<void>;
  /** What is known of the other members; undefined without any. */
  readonly shared?: SharedRotation | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Encrypts the stored secrets of all tenants again that are encrypted with the previous master key, in the background, with
 * pauses for other work. A secret that an administrator changes meanwhile stays as it is.
 *
 * In a cluster each member does it for the tenants whose identities it owns, while all members use the same key: before that a
 * member could encrypt something with the previous key behind it.
 *
 * Invariants:
 * 1. The previous key is dropped only after every secret of every tenant was found under the present key, or under neither.
 * 2. Every secret can be opened at any time with the two keys, however often the process is killed: each is replaced in one
 *    commit.
 * 3. Doing it again changes nothing.
 *
 * @see docs/decisions/0076-master-key-rotation.md
 */
export class MasterKeyRotation {
  readonly #environment: MasterKeyRotationEnvironment;
  readonly #stopLooking: () => void;
  /** Whether all members used the key of this one at the last look. */
  #isAgreed: boolean;
  #running: Promise<void> = Promise.resolve();
  #runs = 0;
  /** Why the running one could not go on; it is tried again. */
  #trouble: string | undefined;
  #isClosed = false;

  constructor(environment: MasterKeyRotationEnvironment) {
    this.#environment = environment;
    const { clock, previousSource, shared } = environment;
    this.#isAgreed = shared === undefined;
    this.#stopLooking =
      shared === undefined || previousSource === undefined
        ? () => undefined
        : checkRepeatedly(clock, () => this.#look(shared));
  }

  /** Begins with the tenants whose identities this member owns, or has taken over. */
  takeUp(isMine: (actor: ActorId) => boolean): void {
    // When the members agree, it begins with everything that is owned then.
    if (this.#environment.previousSource === undefined || this.#isClosed || !this.#isAgreed) return;
    this.#runs += 1;
    const run = async (): Promise<void> => {
      await this.#run(isMine);
      this.#runs -= 1;
    };
    this.#running = this.#running.then(run);
  }

  /** How far it has come, for operators. */
  get findings(): readonly MemberFinding[] {
    const { previousSource } = this.#environment;
    if (previousSource === undefined) return [];
    const why = this.#reasonToKeep();
    const message =
      why === undefined
        ? `nothing is encrypted or signed with the previous master key any more: ${previousSource} can be removed`
        : `${previousSource} is still needed: ${why}`;
    return [{ code: 'master-key-rotation', message }];
  }

  /** @returns undefined when the previous key is not needed any more */
  #reasonToKeep(): string | undefined {
    const { shared } = this.#environment;
    if (!this.#isAgreed) return 'not all members have this SVC_MASTER_KEY, or some were not heard of yet';
    if (this.#runs > 0) {
      const trouble = this.#trouble === undefined ? '' : `; it is tried again after: ${this.#trouble}`;
      return `stored secrets are being encrypted with the new key${trouble}`;
    }
    const partitions = shared?.signedBefore() ?? [];
    if (partitions.length === 0) return undefined;
    const named = partitions.slice(0, NAMED_MAX).join(', ') + (partitions.length > NAMED_MAX ? ', …' : '');
    return `the logs of ${partitions.length} partitions (${named}) may have records that are signed with it`;
  }

  /** Resolves when everything that was begun is done, or the member stops. */
  settled(): Promise<void> {
    return this.#running;
  }

  /** Begins nothing more. What is under way ends with its next step. */
  close(): void {
    this.#isClosed = true;
    this.#stopLooking();
  }

  #look(shared: SharedRotation): void {
    const wasAgreed = this.#isAgreed;
    this.#isAgreed = shared.isAgreed();
    if (this.#isAgreed && !wasAgreed) this.takeUp((actor) => shared.isMine(actor));
  }

  /** Never rejects. */
  async #run(isMine: (actor: ActorId) => boolean): Promise<void> {
    const { clock, dropPrevious, log, previousSource, random, shared } = this.#environment;
    const retries = new Retries(clock, random, RETRIES);
    while (!this.#isClosed) {
      try {
        const encryptedAgain = await this.#replaceAll(isMine);
        if (encryptedAgain === undefined) return;
        crashPoint('before-key-drop');
        await dropPrevious();
        this.#trouble = undefined;
        if (shared === undefined)
          log.info(
            `no stored secret needs the previous master key any more: ${previousSource} can be removed`,
            {
              encryptedAgain,
            },
          );
        else
          log.info('no stored secret of the owned partitions needs the previous master key', {
            encryptedAgain,
          });
        return;
      } catch (error) {
        if (this.#isClosed) return;
        this.#trouble = (error as Error).message;
        log.warn('stored secrets could not be encrypted with the new master key; it is tried again', {
          error,
        });
      }
      await retries.wait();
    }
  }

  /** @returns the number of replaced secrets; undefined when the member stops */
  async #replaceAll(isMine: (actor: ActorId) => boolean): Promise<number | undefined> {
    const { clock } = this.#environment;
    let replaced = 0;
    for (const tenant of await this.#tenants()) {
      if (this.#isClosed) return undefined;
      if (!isMine(actorId(tenant, 'identities'))) continue;
      const startedMs = clock.monotonicMs();
      replaced += await this.#replaceIn(tenant);
      await sleep(clock, clock.monotonicMs() - startedMs);
    }
    return replaced;
  }

  async #tenants(): Promise<readonly string[]> {
    try {
      return await registeredTenants(this.#environment.router);
    } catch (error) {
      // Before the first start of a cluster is complete there is no tenant yet.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return [];
      throw error;
    }
  }

  /** @returns the number of replaced secrets */
  async #replaceIn(tenant: string): Promise<number> {
    const { box, log, router } = this.#environment;
    const actor = actorId(tenant, 'identities');
    let count = 0;
    for (;;) {
      const configuration = await this.#configurationOf(tenant);
      if (configuration === undefined) return count;
      const { replacements, unreadable } = resealedSecrets(box, tenant, configuration);
      if (replacements.size === 0) {
        for (const { kind, provider } of unreadable)
          log.warn('a stored secret is encrypted with neither master key; it has to be set again', {
            tenant,
            provider,
            kind,
          });
        return count;
      }
      const command: ReplaceSecrets = { type: 'ReplaceSecrets', replacements: [...replacements] };
      await router.command(actor, command, { caller: engineCaller(tenant) });
      count += replacements.size;
      crashPoint('mid-key-rotation');
      // Read again: the invariant is about what is stored, and somebody may have changed it in between.
    }
  }

  /** @returns undefined for a tenant without identities */
  async #configurationOf(tenant: string): Promise<ReadConfiguration['configuration'] | undefined> {
    const query: ReadAuthentication = { type: 'ReadAuthentication' };
    try {
      const found = await this.#environment.router.query(
        actorId(tenant, 'identities'),
        query,
        engineCaller(tenant),
      );
      return (found as ReadConfiguration).configuration;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }
}
