import type { ActorId } from '#runtime/actor/ports.ts';
import type { BranchEvent, BranchStanding, RevisionCommitted } from '#runtime/tree/branch-events.ts';

/** Format of messages this build writes. A higher one is not read; what it told is found missing. */
export const BUS_FORMAT = 1;

/** Largest message, in bytes; the servers take 1 MiB. */
export const BUS_BYTES_MAX = 524_288;

/** Branches in one announcement. */
export const STANDINGS_MAX = 1_000;

/** What members tell each other over the bus. */
export type BusMessage =
  /** What happened in a branch, in order. */
  | { readonly kind: 'events'; readonly branch: ActorId; readonly events: readonly BranchEvent[] }
  /** Where branches stand that were written a short while ago: whoever stands elsewhere has missed something. */
  | { readonly kind: 'standings'; readonly standings: readonly (readonly [ActorId, BranchStanding])[] }
  /** Everything whose id begins with this is gone. */
  | { readonly kind: 'removed'; readonly owner: string };

/** A message with who sent it. */
export interface SentMessage {
  readonly format: number;
  /** Names one life of one bus, so that it knows its own. */
  readonly sender: string;
  readonly message: BusMessage;
}

/** A message as bytes. */
export function encodeBusMessage(sender: string, message: BusMessage): Uint8Array {
  return Buffer.from(JSON.stringify({ format: BUS_FORMAT, sender, message } satisfies SentMessage));
}

/**
 * Turns {@link encodeBusMessage} back.
 *
 * @returns undefined for anything else, and for a newer format
 */
export function decodeBusMessage(bytes: Uint8Array): SentMessage | undefined {
  try {
    const sent = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
    ) as SentMessage;
    if (sent.format !== BUS_FORMAT || typeof sent.sender !== 'string') return undefined;
    return isWhole(sent.message) ? sent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The messages that tell of events: as few as the largest message allows. An event that is too large by itself goes
 * without its changes, which are read on demand then.
 */
export function eventMessages(
  sender: string,
  branch: ActorId,
  events: readonly BranchEvent[],
): readonly Uint8Array[] {
  const bytes = encodeBusMessage(sender, { kind: 'events', branch, events });
  if (bytes.length <= BUS_BYTES_MAX) return [bytes];
  if (events.length > 1) {
    const half = events.length >> 1;
    return [events.slice(0, half), events.slice(half)].flatMap((part) => eventMessages(sender, branch, part));
  }
  const [event] = events as readonly [BranchEvent];
  const isLean = event.type !== 'RevisionCommitted' || event.changes === undefined;
  // Then even its texts are too much: it is found missing and read from the branch.
  if (isLean) return [];
  return eventMessages(sender, branch, [{ ...event, changes: undefined } satisfies RevisionCommitted]);
}

function isWhole(message: BusMessage): boolean {
  switch (message.kind) {
    case 'events':
      return typeof message.branch === 'string' && message.events.every(isEvent);
    case 'standings':
      return message.standings.every(
        ([branch, { head, tip }]) =>
          typeof branch === 'string' && isRevision(head) && (tip === null || isRevision(tip)),
      );
    case 'removed':
      return typeof message.owner === 'string' && message.owner !== '';
    default:
      return false;
  }
}

function isEvent(event: BranchEvent): boolean {
  if (!isRevision(event.revision) || !isRevision(event.previous)) return false;
  if (event.type === 'HeadMoved') return true;
  return (
    event.type === 'RevisionCommitted' &&
    Array.isArray(event.definitions) &&
    (event.changes === undefined || Array.isArray(event.changes))
  );
}

function isRevision(text: unknown): boolean {
  return typeof text === 'string' && /^\d{1,15}-\d{1,10}$/.test(text);
}
