import type { LoginNews, LoginTurn } from '#runtime/access/login-throttle.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** Outcomes of an attempt, as one character each. */
const turns: ReadonlyMap<string, LoginTurn> = new Map([
  ['+', 'tried'],
  ['-', 'succeeded'],
  ['~', 'unjudged'],
]);

const signs = new Map([...turns].map(([sign, turn]) => [turn, sign]));

/** Process id, outcome, place: 16 hex digits, one of {@link turns}, a SHA-256 in base64url. */
const messageShape = /^([0-9a-f]{16}) ([-+~])([\w-]{43})$/;

/**
 * Announces login attempts to all members over core NATS: connected members receive them, and nothing is stored.
 * Without a connection nothing is sent, because a message that arrives minutes late would make a user wait for no
 * reason.
 */
export class NatsLogins implements LoginNews {
  readonly #sealed: SealedLink;
  readonly #link: LinkWatch;
  readonly #subject: string;
  readonly #self: string;

  /** @param self id of this process, 16 hex digits: its own messages come back to it */
  constructor(sealed: SealedLink, subjects: Subjects, self: string) {
    this.#sealed = sealed;
    this.#link = new LinkWatch(sealed.connection);
    this.#subject = subjects.logins;
    this.#self = self;
  }

  tell(place: string, turn: LoginTurn): void {
    if (!this.#link.isUp) return;
    this.#sealed.publish(this.#subject, `${this.#self} ${signs.get(turn)}${place}`);
  }

  listen(hear: (place: string, turn: LoginTurn) => void): void {
    this.#sealed.subscribe(this.#subject, (message) => {
      const found = messageShape.exec(message.string());
      if (found === null || found[1] === this.#self) return;
      hear(found[3] as string, turns.get(found[2] as string) as LoginTurn);
    });
  }
}
