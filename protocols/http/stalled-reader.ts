import type { ReplyRoom } from './reply-room.ts';

/**
 * Time without progress after which a peer is cut off while others wait for the room its answer takes, in
 * milliseconds. A peer on a slow line takes something within it.
 */
export const PRESSED_STALL_MS = 2_000;

/** How long a peer may take nothing of its answer. */
export interface StallLimits {
  /** While there is room, in milliseconds. */
  readonly writeStallMsMax: number;
  readonly room: ReplyRoom;
}

/** Whether a peer that has taken nothing for so long is cut off. */
export function isStalled(blockedMs: number, { writeStallMsMax, room }: StallLimits): boolean {
  return blockedMs > writeStallMsMax || (blockedMs > PRESSED_STALL_MS && room.isPressed);
}
