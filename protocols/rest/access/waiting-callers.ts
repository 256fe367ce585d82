import type { Principal } from '#runtime/access/principal.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** The errors of a caller that has no access any more, apart from those of a state that cannot be read. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHORIZED',
  'ACCOUNT_DISABLED',
  'INSUFFICIENT_PERMISSIONS',
  'PASSWORD_CHANGE_REQUIRED',
]);

/** What {@link WaitingCallers} needs. */
export interface WaitingCallersEnvironment {
  /**
   * Reads the present state of a caller who was authenticated before.
   *
   * @throws {ServiceError} when the caller has no access any more; the errors of reading the state
   */
  readonly present: (principal: Principal) => Promise<unknown>;
}

/** The caller of a request that waits. */
export interface WaitingCaller {
  /** Aborted with the error for the caller, when the caller loses access. */
  readonly signal: AbortSignal;
  /** The error for a caller who has no access any more; undefined while there is access, and when that cannot be read. */
  refusal(): Promise<ServiceError | undefined>;
  /** Ends the observation. Must be called. */
  end(): void;
}

/**
 * The callers of requests that wait for long. A request is authenticated when it begins; this tells it when its caller
 * loses access before it is answered. A change of an account is heard at once on all members. News may be lost, so a
 * request also asks before it gives its caller anything.
 *
 * @see docs/decisions/0013-locks-tokens-and-waiting.md
 */
export class WaitingCallers {
  readonly #environment: WaitingCallersEnvironment;
  /** What to do when an account or identity changes, by {@link keyOf}. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(environment: WaitingCallersEnvironment) {
    this.#environment = environment;
  }

  /** An account or an identity of a tenant has changed. */
  changed(tenant: string, id: string): void {
    for (const check of this.#waiting.get(keyOf(tenant, id)) ?? []) check();
  }

  /** Observes the caller of a request that begins to wait. */
  watch(principal: Principal): WaitingCaller {
    const aborter = new AbortController();
    const refusal = (): Promise<ServiceError | undefined> => this.#refusal(principal);
    const key = keyOf(principal.tenant, idOf(principal));
    const checks = this.#waiting.get(key) ?? new Set();
    const check = (): void => {
      void refusal().then((error) => {
        if (error !== undefined && checks.has(check)) aborter.abort(error);
      });
    };
    checks.add(check);
    this.#waiting.set(key, checks);
    const end = (): void => {
      checks.delete(check);
      if (checks.size === 0 && this.#waiting.get(key) === checks) this.#waiting.delete(key);
    };
    return { signal: aborter.signal, refusal, end };
  }

  async #refusal(principal: Principal): Promise<ServiceError | undefined> {
    try {
      await this.#environment.present(principal);
      return undefined;
    } catch (error) {
      return error instanceof ServiceError && refusals.has(error.code) ? error : undefined;
    }
  }
}

function idOf(principal: Principal): string {
  if (principal.kind === 'identity') return principal.identityId;
  return 'userId' in principal ? principal.userId : principal.kind;
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}\0${id}`;
}
