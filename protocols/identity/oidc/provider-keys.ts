import type { CustomFetch } from 'openid-client';
import { IdTokenKeys, type IdTokenKeySource } from '#runtime/access/identity/id-token.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { notAccepted } from './provider-errors.ts';

/** How long a key set is used before it is fetched again, in milliseconds: a key that was withdrawn stays good so long. */
const KEYS_MS = 10 * 60 * 1000;

/** Time between two fetches for keys that are not in the set, in milliseconds: anybody can name a key. */
const REFETCH_MS = 30_000;

interface Fetched {
  readonly keys: IdTokenKeys;
  readonly atMs: number;
}

/**
 * The keys with which a provider signs: fetched when they are needed, and once more for a key that is not among them. They
 * fail with the errors of the guard of outgoing requests, and `UPSTREAM_INVALID`.
 */
export class ProviderKeys implements IdTokenKeySource {
  readonly #providerId: string;
  readonly #url: string;
  readonly #fetch: CustomFetch;
  readonly #clock: Clock;
  #fetched: Fetched | undefined;
  #fetching: Promise<IdTokenKeys> | undefined;
  #refetchedMs = Number.NEGATIVE_INFINITY;

  constructor(providerId: string, url: string, fetch: CustomFetch, clock: Clock) {
    this.#providerId = providerId;
    this.#url = url;
    this.#fetch = fetch;
    this.#clock = clock;
  }

  present(): IdTokenKeys | Promise<IdTokenKeys> {
    const fetched = this.#fetched;
    const isFresh = fetched !== undefined && this.#clock.monotonicMs() - fetched.atMs < KEYS_MS;
    return isFresh ? fetched.keys : this.#fetchOnce();
  }

  newerThan(known: IdTokenKeys): IdTokenKeys | Promise<IdTokenKeys> | undefined {
    const fetched = this.#fetched;
    if (fetched !== undefined && fetched.keys !== known) return fetched.keys;
    if (this.#fetching !== undefined) return this.#fetching;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#refetchedMs < REFETCH_MS) return undefined;
    this.#refetchedMs = nowMs;
    return this.#fetchOnce();
  }

  #fetchOnce(): Promise<IdTokenKeys> {
    this.#fetching ??= this.#fetchNow().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchNow(): Promise<IdTokenKeys> {
    const atMs = this.#clock.monotonicMs();
    const headers = { accept: 'application/json' };
    const options = { method: 'GET', headers, body: undefined, redirect: 'manual' } as const;
    const response = await this.#fetch(this.#url, options);
    if (response.status !== 200) throw notAccepted(this.#providerId, 'its key set has an unexpected status');
    const keys = new IdTokenKeys(await this.#jsonOf(response));
    this.#fetched = { keys, atMs };
    return keys;
  }

  async #jsonOf(response: Response): Promise<unknown> {
    try {
      return await response.json();
    } catch (error) {
      throw notAccepted(this.#providerId, 'its key set is not JSON', error);
    }
  }
}
