import type { Clock } from '#runtime/base/clock.ts';

/** What was refused. */
export type RefusedKind = 'call' | 'answer' | 'message';

/** Why it was refused. */
export type RefusalReason =
  /** It has no seal: a member of an older version, or nobody of the cluster. */
  | 'unsigned'
  /** Its seal was not made with the key of the cluster, or for something else. */
  | 'forged'
  /** It came before. */
  | 'replayed'
  /** It was made for an earlier life of this member. */
  | 'misdirected'
  /** It was on its way for too long. */
  | 'late';

/** What is told as an alarm. The others come about when a member or a connection stands still for long as well. */
const alarming: ReadonlySet<RefusalReason> = new Set(['unsigned', 'forged', 'replayed']);

/** How long a refusal is told, in milliseconds. */
export const REFUSAL_SHOWN_MS = 300_000;

/** Senders that are told apart; what others claim to be is counted together. */
const SENDERS_MAX = 8;

/** Characters of a name somebody claims to have that are shown. */
const NAME_CHARACTERS_MAX = 40;

const OTHERS = 'others';

/** Refusals of one kind for one reason from one who claims to be somebody. */
interface Refused {
  readonly kind: RefusedKind;
  readonly reason: RefusalReason;
  readonly sender: string;
  count: number;
  lastMs: number;
}

const words: Readonly<Record<RefusalReason, string>> = {
  unsigned: 'not signed',
  forged: 'with a wrong signature',
  replayed: 'sent again',
  misdirected: 'for an earlier life of it',
  late: 'too late',
};

/** Told of refusals. */
export interface RefusalObserver {
  /** Every one of them: counts, nothing else. */
  refused(): void;
  /** The first of some minutes that are alike. */
  noticed(kind: RefusedKind, reason: RefusalReason, sender: string): void;
}

/** What this member refused of what claimed to come from members, for some minutes. */
export class Refusals {
  readonly #clock: Clock;
  readonly #observer: RefusalObserver;
  readonly #refused = new Map<string, Refused>();

  constructor(clock: Clock, observer: RefusalObserver) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** @param claimed who it says that it is from; nothing proves it */
  note(kind: RefusedKind, reason: RefusalReason, claimed: string): void {
    this.#observer.refused();
    this.#forgetOld();
    const nowMs = this.#clock.monotonicMs();
    const name = shown(claimed);
    const known = this.#refused.get(`${kind} ${reason} ${name}`);
    const sender = known !== undefined || this.#refused.size < SENDERS_MAX ? name : OTHERS;
    const key = `${kind} ${reason} ${sender}`;
    const refused = this.#refused.get(key);
    if (refused === undefined) {
      this.#refused.set(key, { kind, reason, sender, count: 1, lastMs: nowMs });
      this.#observer.noticed(kind, reason, sender);
      return;
    }
    refused.count += 1;
    refused.lastMs = nowMs;
  }

  /** What an operator has to know, a sentence each. */
  get alarms(): readonly string[] {
    this.#forgetOld();
    return [...this.#refused.values()]
      .filter(({ reason }) => alarming.has(reason))
      .map(
        ({ count, kind, reason, sender }) =>
          `refused ${count} ${kind}${count === 1 ? '' : 's'} ${words[reason]}, in the name of ${sender}`,
      );
  }

  #forgetOld(): void {
    const beforeMs = this.#clock.monotonicMs() - REFUSAL_SHOWN_MS;
    for (const [key, { lastMs }] of this.#refused) if (lastMs < beforeMs) this.#refused.delete(key);
  }
}

/** A name as somebody claims it, fit to be shown: it may be anything. */
function shown(claimed: string): string {
  const printable = claimed.replace(/[^\x21-\x7e]/g, '?').slice(0, NAME_CHARACTERS_MAX);
  return printable === '' ? 'nobody' : printable;
}
