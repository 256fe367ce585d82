import {
  type AdminAccount,
  type ApiKeyPlace,
  type FindAdmin,
  type FindApiKey,
  type FindTenantsByTag,
  KEY_USE_MS,
  type RecordApiKeyUse,
} from '#actors/tenant/messages.ts';
import type { AccountNews } from '#runtime/access/account-news.ts';
import { type AdminTokens, interfaceFlags, type VerifiedToken } from '#runtime/access/admin-tokens.ts';
import { apiKeyHash, tagOfApiKey } from '#runtime/access/api-key.ts';
import type { AdminPrincipal, ImpersonatingPrincipal } from '#runtime/access/principal.ts';
import { StateCache, type StateCacheTimes } from '#runtime/access/state-cache.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { BoundedTurns } from '#runtime/base/event-loop/bounded-turns.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { inTime } from '#runtime/base/time/within.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * How long a member relies on what it knows of an account. Changes are told to all members at once, so the five seconds
 * count only for a message that was lost. The grace is longer than any change of the owner of a partition takes.
 */
const accountTimes: StateCacheTimes = { freshMs: 5_000, graceMs: 300_000, waitMs: 1_000, retryMs: 500 };

/** Accounts and keys that a member remembers. */
const REMEMBERED_MAX = 10_000;

/** Unknown keys that a member remembers: a client that repeats one costs no further look-up. */
const UNKNOWN_MAX = 1_000;

/** Time that an unknown key is remembered, in milliseconds. */
const UNKNOWN_MS = 60_000;

/** Look-ups of keys at once, and waiting: anybody can send keys that do not exist. */
const lookUps = { runningMax: 16, waitingMax: 256 };

/** Time for a read of accounts, in milliseconds. */
const READ_MS = 10_000;

/** An administrator whose login or key was verified. */
export interface AdminCaller {
  /** With the present flags of the account. */
  readonly principal: AdminPrincipal;
  /** The account has to change its password before anything else. */
  readonly mustChangePassword: boolean;
}

/** What decides whether the tokens and keys of an account count; undefined: there is no such account. */
type AccountState =
  | {
      readonly caller: AdminCaller;
      readonly isActive: boolean;
      readonly passwordChangedMs: number;
      /** The active keys, by id. */
      readonly keys: ReadonlyMap<string, AdminCaller>;
    }
  | undefined;

/** An account in a tenant. */
interface Place {
  readonly tenant: string;
  readonly userId: string;
  /** Key of the account in the cache. */
  readonly account: string;
}

/** Dependencies of {@link AdminAccess}. */
export interface AdminAccessEnvironment {
  readonly router: Router;
  readonly clock: Clock;
  readonly tokens: AdminTokens;
  /** Undefined without other members. */
  readonly news?: AccountNews;
}

/**
 * Admits administrators, by the token of a login or by a key, for every protocol. A token says who has logged in; the
 * account says whether that still counts. Each member keeps a copy of the accounts in use, which every change drops at
 * once on all members, so an end of access counts within moments everywhere.
 *
 * @see docs/decisions/0071-administrator-accounts.md
 */
export class AdminAccess {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #tokens: AdminTokens;
  readonly #news: AccountNews | undefined;
  readonly #accounts: StateCache<AccountState>;
  /** Places of accounts by the token that leads to them. */
  readonly #places = new WeakMap<VerifiedToken, Place>();
  /** Where a key belongs never changes. Oldest first. */
  readonly #keys = new Map<string, Place & { readonly keyId: string }>();
  /** When an unknown key is forgotten, on the monotonic clock. Oldest first. */
  readonly #unknownKeys = new Map<string, number>();
  readonly #lookUps = new BoundedTurns(lookUps);
  readonly #listeners: ((tenant: string, userId: string) => void)[] = [];
  /** When the use of a key was last recorded, by its id. */
  readonly #uses = new Map<string, number>();

  constructor({ clock, news, router, tokens }: AdminAccessEnvironment) {
    this.#router = router;
    this.#clock = clock;
    this.#tokens = tokens;
    this.#news = news;
    this.#accounts = new StateCache<AccountState>({
      ...accountTimes,
      clock,
      entriesMax: REMEMBERED_MAX,
      read: (account) => this.#readAccount(account),
    });
    news?.listen(
      (tenant, userId) => this.#forget(tenant, userId),
      () => this.#accounts.doubt(),
    );
  }

  /** An account has changed at this member, which owns it: no member relies on what it knows of it. */
  changed(tenant: string, userId: string): void {
    this.#forget(tenant, userId);
    this.#news?.tell(tenant, userId);
  }

  /** @param hear called for every change of an account or its keys, on any member, for the lifetime of the process */
  listen(hear: (tenant: string, userId: string) => void): void {
    this.#listeners.push(hear);
  }

  /**
   * Verifies the token of a login. Without a promise where token and account are known.
   *
   * @throws {ServiceError} `UNAUTHORIZED`; errors of reading the account, when nothing is known of it
   */
  verifyToken(token: string): AdminCaller | Promise<AdminCaller> {
    const verified = this.#tokens.verify(token);
    return verified instanceof Promise ? verified.then((known) => this.#admit(known)) : this.#admit(verified);
  }

  /**
   * As {@link AdminAccess.verifyToken}, for what is needed during outages: where it takes more than a moment to read the
   * account, or that fails, the signature suffices.
   *
   * @throws {ServiceError} `UNAUTHORIZED`
   */
  async verifyTokenInOutage(token: string): Promise<AdminCaller> {
    const verified = await this.#tokens.verify(token);
    const judged = async (): Promise<AdminCaller | ServiceError | undefined> => {
      try {
        return await this.#admit(verified);
      } catch (error) {
        return error instanceof ServiceError && error.code === 'UNAUTHORIZED' ? error : undefined;
      }
    };
    const answer = await inTime(this.#clock, accountTimes.waitMs, judged());
    if (answer instanceof ServiceError) throw answer;
    return answer ?? { principal: verified.principal, mustChangePassword: false };
  }

  /**
   * Verifies a key.
   *
   * @throws {ServiceError} `UNAUTHORIZED`; `INSUFFICIENT_PERMISSIONS` for an account without `api_access`; `OVERLOADED`
   *   while too many unknown keys are looked up; errors of reading, when nothing is known
   */
  verifyKey(token: string): AdminCaller | Promise<AdminCaller> {
    const known = this.#keys.get(token);
    if (known === undefined) return this.#findKey(token);
    const state = this.#accounts.get(known.account);
    return state instanceof Promise
      ? state.then((account) => this.#admitKey(known, account))
      : this.#admitKey(known, state);
  }

  /**
   * An administrator whose login or key was verified some time ago, as the account is now. The login need not be valid any
   * more; the key has to be.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for an account or a key that is not there any more; `ACCOUNT_DISABLED`;
   *   `INSUFFICIENT_PERMISSIONS`; `PASSWORD_CHANGE_REQUIRED`; errors of reading the account, when nothing is known of it
   */
  async present(principal: AdminPrincipal | ImpersonatingPrincipal): Promise<AdminPrincipal> {
    const state = await this.#accounts.get(accountKey(principal.tenant, principal.userId));
    if (state === undefined) throw new ServiceError('UNAUTHORIZED', 'The account is not there any more');
    if (!state.isActive) throw new ServiceError('ACCOUNT_DISABLED');
    if (state.caller.mustChangePassword) throw new ServiceError('PASSWORD_CHANGE_REQUIRED');
    const { accessFlags } = state.caller.principal;
    if (principal.kind === 'impersonating') {
      if (accessFlags.can_impersonate) return state.caller.principal;
      throw new ServiceError('INSUFFICIENT_PERMISSIONS', 'The account has no can_impersonate');
    }
    if (principal.apiKeyId === undefined) return state.caller.principal;
    const caller = state.keys.get(principal.apiKeyId);
    if (caller === undefined) throw new ServiceError('UNAUTHORIZED', 'The API key is not valid any more');
    if (accessFlags.api_access) return caller.principal;
    throw new ServiceError('INSUFFICIENT_PERMISSIONS', 'The account of the key has no api_access');
  }

  #forget(tenant: string, userId: string): void {
    this.#accounts.forget(accountKey(tenant, userId));
    for (const hear of this.#listeners) hear(tenant, userId);
  }

  #admit(verified: VerifiedToken): AdminCaller | Promise<AdminCaller> {
    const { account } = this.#placeOf(verified);
    const state = this.#accounts.get(account);
    if (state instanceof Promise) return state.then((known) => this.#judge(verified, known));
    // The password was set, and used for a login, after this member read the account: the token is newer.
    if (state === undefined || verified.passwordChangedMs <= state.passwordChangedMs)
      return this.#judge(verified, state);
    this.#accounts.forget(account);
    const anew = this.#accounts.get(account);
    return anew instanceof Promise
      ? anew.then((known) => this.#judge(verified, known))
      : this.#judge(verified, anew);
  }

  #judge({ passwordChangedMs, via }: VerifiedToken, state: AccountState): AdminCaller {
    if (
      state?.isActive !== true ||
      state.passwordChangedMs !== passwordChangedMs ||
      !state.caller.principal.accessFlags[interfaceFlags[via]]
    )
      throw new ServiceError('UNAUTHORIZED', 'The token is no longer valid; log in again');
    return state.caller;
  }

  #admitKey({ keyId, tenant, userId }: Place & { readonly keyId: string }, state: AccountState): AdminCaller {
    const caller = state?.keys.get(keyId);
    if (state?.isActive !== true || caller === undefined) throw invalidKey();
    if (!caller.principal.accessFlags.api_access)
      throw new ServiceError('INSUFFICIENT_PERMISSIONS', 'The account of the key has no api_access');
    this.#noteUse(tenant, userId, keyId);
    return caller;
  }

  async #findKey(token: string): Promise<AdminCaller> {
    const tag = tagOfApiKey(token);
    if (tag === undefined || this.#isUnknown(token)) throw invalidKey();
    const looked = this.#lookUps.run(() => this.#lookUpKey(token, tag));
    if (looked === undefined) throw new ServiceError('OVERLOADED', 'Too many unknown keys at once');
    const place = await looked;
    if (place === undefined) {
      keep(this.#unknownKeys, token, this.#clock.monotonicMs() + UNKNOWN_MS, UNKNOWN_MAX);
      throw invalidKey();
    }
    keep(this.#keys, token, place, REMEMBERED_MAX);
    // What is known of the account may be older than the key.
    this.#accounts.forget(place.account);
    return this.#admitKey(place, await this.#accounts.get(place.account));
  }

  #isUnknown(token: string): boolean {
    const untilMs = this.#unknownKeys.get(token);
    return untilMs !== undefined && this.#clock.monotonicMs() < untilMs;
  }

  async #lookUpKey(token: string, tag: string): Promise<(Place & { readonly keyId: string }) | undefined> {
    const tagged: FindTenantsByTag = { type: 'FindTenantsByTag', tag };
    const tenants = (await this.#ask(SYSTEM_TENANT, tagged)) as readonly string[] | undefined;
    const query: FindApiKey = { type: 'FindApiKey', tokenHash: apiKeyHash(token) };
    for (const tenant of tenants ?? []) {
      const found = (await this.#ask(tenant, query)) as ApiKeyPlace | undefined;
      if (found === undefined) continue;
      const { keyId, userId } = found;
      return { tenant, userId, keyId, account: accountKey(tenant, userId) };
    }
    return undefined;
  }

  #readAccount(account: string): AccountState | Promise<AccountState> {
    const [tenant, userId] = account.split('\0') as [string, string];
    const query: FindAdmin = { type: 'FindAdmin', userId };
    const found = this.#ask(tenant, query) as AdminAccount | undefined | Promise<AdminAccount | undefined>;
    return found instanceof Promise
      ? found.then((stored) => stateOf(tenant, stored))
      : stateOf(tenant, found);
  }

  /** Queries the accounts of a tenant; one that does not exist has none. */
  #ask(tenant: string, query: unknown): unknown {
    const caller = { ...engineCaller(tenant), deadlineMs: this.#clock.monotonicMs() + READ_MS };
    try {
      const answer = this.#router.query(actorId(tenant, 'tenant'), query, caller);
      return answer instanceof Promise ? answer.catch(nothingWhereMissing) : answer;
    } catch (error) {
      return nothingWhereMissing(error);
    }
  }

  #placeOf(verified: VerifiedToken): Place {
    const known = this.#places.get(verified);
    if (known !== undefined) return known;
    const { tenant, userId } = verified.principal;
    const place: Place = { tenant, userId, account: accountKey(tenant, userId) };
    this.#places.set(verified, place);
    return place;
  }

  /** Records that a key is used, beside the request and not for each one. */
  #noteUse(tenant: string, userId: string, keyId: string): void {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#uses.get(keyId);
    if (lastMs !== undefined && nowMs - lastMs < KEY_USE_MS) return;
    keep(this.#uses, keyId, nowMs, REMEMBERED_MAX);
    const command: RecordApiKeyUse = { type: 'RecordApiKeyUse', userId, keyId };
    // Nobody waits for it: a use that cannot be stored, for example on a full disk, is stored with a later one.
    this.#router
      .command(actorId(tenant, 'tenant'), command, { caller: engineCaller(tenant) })
      .catch(() => void this.#uses.delete(keyId));
  }
}

function stateOf(tenant: string, account: AdminAccount | undefined): AccountState {
  if (account === undefined) return undefined;
  const {
    access_flags: flags,
    must_change_password: mustChangePassword,
    user_id: userId,
    username,
  } = account;
  const accessFlags = Object.freeze({ ...flags });
  const principal: AdminPrincipal = Object.freeze({ kind: 'admin', tenant, userId, username, accessFlags });
  const keys = new Map<string, AdminCaller>();
  for (const { is_active: isActive, key_id: apiKeyId } of account.api_keys ?? [])
    if (isActive)
      keys.set(apiKeyId, { principal: Object.freeze({ ...principal, apiKeyId }), mustChangePassword });
  return {
    caller: { principal, mustChangePassword },
    isActive: account.is_active,
    passwordChangedMs: account.password_changed_ms,
    keys,
  };
}

function accountKey(tenant: string, userId: string): string {
  return `${tenant}\0${userId}`;
}

function invalidKey(): ServiceError {
  return new ServiceError('UNAUTHORIZED', 'The API key is not valid');
}

function nothingWhereMissing(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
  throw error;
}

/** Stores an entry in a map of bounded size; the oldest one is dropped. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= entriesMax) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
