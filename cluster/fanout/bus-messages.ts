import type { ActorId } from '#runtime/actor/ports.ts';
import type { BranchEvent, PublishedPosition, RevisionCommitted } from '#runtime/tree/branch-events.ts';

/** Format of the messages that this build writes. Messages of a higher format are skipped, and the gap is detected. */
export const BUS_FORMAT = 1;

/** Maximum size of a message, in bytes; the servers accept 1 MiB. */
export const BUS_BYTES_MAX = 524_288;

/** Maximum number of branches in one announcement. */
export const POSITIONS_MAX = 1_000;

/** Messages between members on the bus. */
export type BusMessage =
  /** Events of a branch, in order. */
  | { readonly kind: 'events'; readonly branch: ActorId; readonly events: readonly BranchEvent[] }
  /** Positions of recently written branches: a subscriber at another position has missed events. */
  | { readonly kind: 'positions'; readonly positions: readonly (readonly [ActorId, PublishedPosition])[] }
  /** All actors whose id begins with this were removed. */
  | { readonly kind: 'removed'; readonly owner: string };

/** A message and its sender. */
export interface SentMessage {
  readonly format: number;
  /** Identifies one bus instance, so that it recognizes its own messages. */
  readonly sender: string;
  readonly message: BusMessage;
}

/** Encodes a message. */
export function encodeBusMessage(sender: string, message: BusMessage): Uint8Array {
  return Buffer.from(JSON.stringify({ format: BUS_FORMAT, sender, message } satisfies SentMessage));
}

/**
 * Decodes {@link encodeBusMessage}.
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
 * Returns the messages for events: as few as the maximum size allows. An event that is too large by itself is sent
 * without its changes, which are then read on demand.
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
  // Even its texts are too large: the gap is detected, and the event is read from the branch.
  if (isLean) return [];
  return eventMessages(sender, branch, [{ ...event, changes: undefined } satisfies RevisionCommitted]);
}

function isWhole(message: BusMessage): boolean {
  switch (message.kind) {
    case 'events':
      return typeof message.branch === 'string' && message.events.every(isEvent);
    case 'positions':
      return message.positions.every(
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
