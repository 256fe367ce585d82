import type { Clock } from '#runtime/base/time/clock.ts';

/** Kind of a refused message. */
export type RefusedKind = 'call' | 'answer' | 'message';

/** Reason of a refusal. */
export type RefusalReason =
  /** It has no seal: it is from a member of an older version, or not from the cluster. */
  | 'unsigned'
  /** Its seal was made without the key of the cluster, or for another purpose. */
  | 'forged'
  /** It was received before. */
  | 'replayed'
  /** It was made for an earlier process of this member. */
  | 'misdirected'
  /** It was in transit for too long. */
  | 'late';

/** Reasons that raise an alarm. The others also occur when a member or a connection is suspended for long. */
const alarming: ReadonlySet<RefusalReason> = new Set(['unsigned', 'forged', 'replayed']);

/** Time for which a refusal is reported, in milliseconds. */
export const REFUSAL_SHOWN_MS = 300_000;

/** Maximum number of distinguished senders; the claims of all others are counted together. */
const SENDERS_MAX = 8;

/** Maximum number of characters shown of a claimed name. */
const NAME_CHARACTERS_MAX = 40;

const OTHERS = 'others';

/** Refusals of one kind for one reason and one claimed sender. */
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
  misdirected: 'for an earlier process of it',
  late: 'too late',
};

/** Observer of refusals. */
export interface RefusalObserver {
  /** Called for every refusal, for counting. */
  refused(): void;
  /** Called for the first of several equal refusals within some minutes. */
  noticed(kind: RefusedKind, reason: RefusalReason, sender: string): void;
}

/** The refusals of the last minutes: messages that claimed to be from members. */
export class Refusals {
  readonly #clock: Clock;
  readonly #observer: RefusalObserver;
  readonly #refused = new Map<string, Refused>();

  constructor(clock: Clock, observer: RefusalObserver) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** @param claimed the sender that the message names; not proven */
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

  /** Alarms for the operator, a sentence each. */
  get alarms(): readonly string[] {
    this.#forgetOld();
    return [...this.#refused.values()]
      .filter(({ reason }) => alarming.has(reason))
      .map(
        ({ count, kind, reason, sender }) =>
          `refused ${count} ${kind}${count === 1 ? '' : 's'} ${words[reason]}, claimed sender ${sender}`,
      );
  }

  #forgetOld(): void {
    const beforeMs = this.#clock.monotonicMs() - REFUSAL_SHOWN_MS;
    for (const [key, { lastMs }] of this.#refused) if (lastMs < beforeMs) this.#refused.delete(key);
  }
}

/** Makes a claimed name printable; it may contain anything. */
function shown(claimed: string): string {
  const printable = claimed.replace(/[^\x21-\x7e]/g, '?').slice(0, NAME_CHARACTERS_MAX);
  return printable === '' ? 'nobody' : printable;
}
