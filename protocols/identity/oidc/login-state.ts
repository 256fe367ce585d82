import type { Clock } from '#runtime/base/time/clock.ts';
import type { SecretBox } from '#runtime/config/secret-box.ts';

/** How long a person has to log in at the provider, in milliseconds. */
export const LOGIN_STATE_MS: number = 10 * 60 * 1000;

/** Uses that a member remembers; the oldest is forgotten first. */
const USED_MAX = 20_000;

const PURPOSE = 'oidc login state';

/** What a login has to know again when the provider sends the person back. */
export interface LoginState {
  readonly tenant: string;
  readonly providerId: string;
  /** Identifies the settings of the provider with which the login was started. */
  readonly settings: string;
  /** null: the login is for the tenant. */
  readonly repository: string | null;
  /** null: the tokens are answered as JSON. */
  readonly landing: string | null;
  /** Of PKCE. The provider has seen its hash only. */
  readonly verifier: string;
  readonly nonce: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresMs: number;
}

/**
 * The states of logins that are under way. Nothing is stored for them: a state travels through the browser and the
 * provider, sealed, so that nobody can read or make one. A member lets each state be used once. Another member may accept
 * it a second time; there the provider refuses, because a code can be redeemed once (RFC 6749, section 4.1.2).
 */
export class LoginStates {
  readonly #box: SecretBox;
  readonly #clock: Clock;
  /** Nonces of used states, oldest first. */
  readonly #used = new Set<string>();

  constructor(box: SecretBox, clock: Clock) {
    this.#box = box;
    this.#clock = clock;
  }

  /** Seals a state, which is good for {@link LOGIN_STATE_MS}. */
  seal(state: Omit<LoginState, 'expiresMs'>): string {
    const expiresMs = this.#clock.wallMs() + LOGIN_STATE_MS;
    return this.#box.seal(PURPOSE, JSON.stringify({ ...state, expiresMs }));
  }

  /** Opens a state from a request. @returns undefined for one that was not sealed here, or has expired */
  open(sealed: string): LoginState | undefined {
    const text = this.#box.open(PURPOSE, sealed);
    if (text === undefined) return undefined;
    const state = JSON.parse(text) as LoginState;
    return state.expiresMs > this.#clock.wallMs() ? state : undefined;
  }

  /** Uses a state. @returns false when it was used before */
  use({ nonce }: LoginState): boolean {
    if (this.#used.has(nonce)) return false;
    this.#used.add(nonce);
    for (const oldest of this.#used) {
      if (this.#used.size <= USED_MAX) break;
      this.#used.delete(oldest);
    }
    return true;
  }
}
