import type { Identity, NoteActivity } from '#actors/identities/messages.ts';
import { ACTIVITY_MS } from '#actors/identities/messages.ts';
import type { IdentityNews } from '#runtime/access/identity/identity-news.ts';
import type { IdentityTokens, VerifiedAccess } from '#runtime/access/identity/identity-tokens.ts';
import type { IdentityPrincipal } from '#runtime/access/principal.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * How long what was read of an identity counts, in milliseconds. A change drops it at once; this bounds how long a member
 * that was cut off, and so heard nothing, goes on with it.
 */
export const STATE_MS = 5_000;

/** Identities kept in one generation; two generations are kept. */
const STATES_MAX = 10_000;

/** Dependencies of {@link IdentityCallers}. */
export interface IdentityCallersContext {
  readonly router: Pick<Router, 'command' | 'query'>;
  readonly tokens: IdentityTokens;
  /** Tells what has changed, on this member and on others. */
  readonly news: { listen(hear: (news: IdentityNews) => void): void };
  readonly clock: Clock;
}

/** A caller with an access token. */
export interface IdentityCaller {
  readonly principal: IdentityPrincipal;
  readonly access: VerifiedAccess;
}

/** What a caller may do depends on this, beside the token. */
interface IdentityState {
  readonly isThere: boolean;
  readonly isActive: boolean;
  readonly isTenantAdmin: boolean;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** A token that was used on this member. */
interface UsedToken extends IdentityCaller {
  /** The key of its identity in the states. */
  readonly key: string;
  /** When its use was last recorded, on the monotonic clock. */
  notedMs: number;
}

/**
 * The callers of access tokens, for every protocol. A token is verified without stored data; then the identity must be
 * there and active. That is read from its tenant, and kept for a short time.
 *
 * Invariant: a state that was read before a change of which this member has heard is not used afterwards.
 *
 * @see docs/decisions/0070-callers-with-an-identity.md
 */
export class IdentityCallers {
  readonly #context: IdentityCallersContext;
  #recent = new Map<string, IdentityState>();
  #older = new Map<string, IdentityState>();
  /** States that are being read. News removes them, so that they are not kept. */
  readonly #reading = new Map<string, Promise<IdentityState>>();
  /** One principal for a token, so that what others keep of it is found again. */
  readonly #used = new WeakMap<VerifiedAccess, UsedToken>();

  constructor(context: IdentityCallersContext) {
    this.#context = context;
    context.news.listen((news) => {
      if (news.kind === 'identity') this.#drop(keyOf(news.tenant, news.identityId));
    });
  }

  /**
   * The caller of an access token. One that was used a moment ago is answered without a promise.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for a token that is not a valid access token, and for one of an identity that is
   *   not there any more; `ACCOUNT_DISABLED`; the errors of reading the identity
   */
  verify(token: string): IdentityCaller | Promise<IdentityCaller> {
    const access = this.#context.tokens.verifyAccess(token);
    return access instanceof Promise ? access.then((known) => this.#admit(known)) : this.#admit(access);
  }

  /**
   * Whether an identity is an administrator of its tenant at present, whatever its token says.
   *
   * @throws {ServiceError} the errors of reading the identity
   */
  async isTenantAdministrator({ identityId, tenant }: IdentityPrincipal): Promise<boolean> {
    const { isActive, isTenantAdmin } = await this.#stateOf(tenant, identityId);
    return isActive && isTenantAdmin;
  }

  /**
   * Requires that a caller whose token was verified some time ago still has access. The token need not be valid any more.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for an identity that is not there any more; `ACCOUNT_DISABLED`; the errors of
   *   reading the identity
   */
  async present({ identityId, tenant }: IdentityPrincipal): Promise<void> {
    requireActive(await this.#stateOf(tenant, identityId));
  }

  #admit(access: VerifiedAccess): IdentityCaller | Promise<IdentityCaller> {
    const used = this.#used.get(access);
    const state = this.#stateOf(access.tenant, access.identityId, used?.key);
    if (!(state instanceof Promise)) return this.#callerOf(access, state, used);
    return state.then((read) => this.#callerOf(access, read, this.#used.get(access)));
  }

  #callerOf(access: VerifiedAccess, state: IdentityState, used: UsedToken | undefined): IdentityCaller {
    requireActive(state);
    if (used !== undefined) {
      this.#note(used);
      return used;
    }
    const { email, identityId, sessionId, tenant } = access;
    const principal = Object.freeze({ kind: 'identity', tenant, identityId, sessionId, email } as const);
    const notedMs = this.#context.clock.monotonicMs();
    const first: UsedToken = { principal, access, key: keyOf(tenant, identityId), notedMs };
    this.#used.set(access, first);
    return first;
  }

  /** Records that the session is used, from time to time. Nobody waits for it, and nothing depends on it. */
  #note(used: UsedToken): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (nowMs - used.notedMs < ACTIVITY_MS) return;
    used.notedMs = nowMs;
    const { identityId, sessionId, tenant } = used.principal;
    const command: NoteActivity = { type: 'NoteActivity', identityId, sessionId };
    this.#context.router
      .command(actorId(tenant, 'identities'), command, { caller: engineCaller(tenant) })
      .catch(() => undefined);
  }

  #stateOf(
    tenant: string,
    identityId: string,
    key: string = keyOf(tenant, identityId),
  ): IdentityState | Promise<IdentityState> {
    const kept = this.#recent.get(key) ?? this.#older.get(key);
    if (kept !== undefined && this.#context.clock.monotonicMs() < kept.untilMs) return kept;
    const reading = this.#reading.get(key) ?? this.#read(key, tenant, identityId);
    return reading;
  }

  #read(key: string, tenant: string, identityId: string): Promise<IdentityState> {
    const isCurrent = (): boolean => this.#reading.get(key) === reading;
    const reading: Promise<IdentityState> = this.#ask(tenant, identityId).then(
      (state) => {
        if (isCurrent()) this.#keep(key, state);
        return state;
      },
      (error: unknown) => {
        if (isCurrent()) this.#reading.delete(key);
        throw error;
      },
    );
    this.#reading.set(key, reading);
    return reading;
  }

  async #ask(tenant: string, identityId: string): Promise<IdentityState> {
    const { clock, router } = this.#context;
    // From before the question: the answer may be as old.
    const untilMs = clock.monotonicMs() + STATE_MS;
    const query = { type: 'FindIdentity', identityId };
    let found: Identity | undefined;
    try {
      const caller = engineCaller(tenant);
      found = (await router.query(actorId(tenant, 'identities'), query, caller)) as Identity | undefined;
    } catch (error) {
      // A tenant in which nobody has registered has no such identity.
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    }
    return {
      isThere: found !== undefined,
      isActive: found?.is_active === true,
      isTenantAdmin: found?.is_tenant_admin === true,
      untilMs,
    };
  }

  #keep(key: string, state: IdentityState): void {
    this.#reading.delete(key);
    this.#older.delete(key);
    if (this.#recent.size >= STATES_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, state);
  }

  #drop(key: string): void {
    this.#recent.delete(key);
    this.#older.delete(key);
    this.#reading.delete(key);
  }
}

function requireActive({ isActive, isThere }: IdentityState): void {
  if (!isThere) throw new ServiceError('UNAUTHORIZED', 'The account is not there any more');
  if (!isActive) throw new ServiceError('ACCOUNT_DISABLED');
}

function keyOf(tenant: string, identityId: string): string {
  return `${tenant}\0${identityId}`;
}
