import type { ReplyRoom } from './reply-room.ts';

/**
 * Time without progress after which a peer is disconnected while other responses wait for room, in milliseconds. A
 * peer on a slow line makes progress within it.
 */
export const PRESSED_STALL_MS = 2_000;

/** How long a peer may read nothing of its response. */
export interface StallLimits {
  /** Limit while there is room, in milliseconds. */
  readonly writeStallMsMax: number;
  readonly room: ReplyRoom;
}

/** Whether a peer that has read nothing for this long is to be disconnected. */
export function isStalled(blockedMs: number, { writeStallMsMax, room }: StallLimits): boolean {
  return blockedMs > writeStallMsMax || (blockedMs > PRESSED_STALL_MS && room.isPressed);
}
