import { hash, needsRehash, verify } from 'argon2';
import { BoundedTurns } from '#runtime/base/event-loop/bounded-turns.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { PASSWORD_CHARACTERS_MAX } from './password-rule.ts';

/**
 * Argon2id with the parameters OWASP lists first for servers (19 MiB, 2 passes, 1 lane): about 25 ms of one core.
 * Every hash contains its parameters, so raising them here leaves older hashes valid.
 */
const parameters = { type: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * Limit of concurrent hashes. They run on the threads that flush the journal too, and each takes 19 MiB: a burst of
 * logins must not slow down writes.
 */
const HASHES_MAX = 2;

/** Limit of waiting logins: at 25 ms each about three seconds of work. */
const WAITING_MAX = 256;

/** Hash of no known password. It is compared when the account does not exist, so that the answer takes as long. */
const nobody =
  '$argon2id$v=19$m=19456,p=1,t=2$OaTli5JHEsVYiij43Rz4JQ$YVx5xcpdmpC8c+dTLtbFVspoJVPzadpJ+U4ZSBmRO7A';

/** Hashes and verifies passwords off the event loop, a bounded number at a time. */
export class PasswordHasher {
  readonly #turns = new BoundedTurns({ runningMax: HASHES_MAX, waitingMax: WAITING_MAX });

  /**
   * The argon2id hash of a password, with its salt and parameters.
   *
   * @throws {ServiceError} `OVERLOADED` when too many wait
   */
  hash(password: string): Promise<string> {
    return this.#inTurn(() => hash(password, parameters));
  }

  /**
   * Whether a password matches a hash. It takes the same time when the account does not exist.
   *
   * @param stored hash of the account; undefined when there is none, which never matches
   * @throws {ServiceError} `OVERLOADED` when too many wait
   */
  async verify(stored: string | undefined, password: string): Promise<boolean> {
    const bounded = password.slice(0, PASSWORD_CHARACTERS_MAX);
    const fits = await this.#inTurn(() => verify(stored ?? nobody, bounded));
    return fits && stored !== undefined && bounded === password;
  }

  /** Whether a hash was made with other parameters than new ones, so that it is replaced when its password is known. */
  isOutdated(stored: string): boolean {
    const { memoryCost, parallelism, timeCost } = parameters;
    return needsRehash(stored, { memoryCost, parallelism, timeCost });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(work) ?? Promise.reject(new ServiceError('OVERLOADED', 'Too many logins at once'));
  }
}
