import type { MemberLoad } from '#runtime/directory/ports.ts';
import type { Formats } from './common-formats.ts';

/** Format of the heartbeats that this build writes. One with a higher number counts only as a sign of life. */
export const HEARTBEAT_FORMAT = 1;

/** Maximum length of a member's name, in characters. */
const ID_LENGTH_MAX = 200;

/** A partition that a member owns, and the epoch. */
export type Claim = readonly [partition: number, epoch: number];

/** A partition that a member gives up, and its successor. */
export type Handover = readonly [partition: number, successor: string];

/** The state that a member publishes every second, and whenever it changes. */
export interface Heartbeat {
  readonly format: number;
  readonly member: string;
  /** Identifies one process of the member: another process owns nothing that this one claimed. */
  readonly incarnation: string;
  /** Rises by one with each heartbeat of a process; a late one is ignored. */
  readonly beat: number;
  readonly url: string;
  readonly version: string;
  /** The newest formats it understands. */
  readonly formats: Formats;
  /** Identifies the master key it encrypts and signs with; absent in older versions. */
  readonly key?: string;
  readonly load: MemberLoad;
  readonly owned: readonly Claim[];
  /** Partitions it has just given up: only the successor opens them for a while. */
  readonly handovers: readonly Handover[];
  /** Partitions it follows closely enough to take over at once. */
  readonly warm: readonly number[];
  /** Partitions it cannot take or keep at present: in quarantine, damaged here, or on a failed disk. */
  readonly resting: readonly number[];
  readonly isDraining: boolean;
  /** This is its last heartbeat. */
  readonly isLeaving: boolean;
}

/** Encodes a heartbeat. */
export function encodeHeartbeat(heartbeat: Heartbeat): Uint8Array {
  return Buffer.from(JSON.stringify(heartbeat));
}

/**
 * Decodes {@link encodeHeartbeat}.
 *
 * @param partitions number of partitions of the cluster
 * @returns undefined for anything else: the bytes come over the network, and may be of another version
 */
export function decodeHeartbeat(bytes: Uint8Array, partitions: number): Heartbeat | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const heartbeat = value as Heartbeat;
  return isWhole(heartbeat, partitions) ? heartbeat : undefined;
}

function isWhole(heartbeat: Heartbeat, partitions: number): boolean {
  const {
    beat,
    format,
    formats,
    handovers,
    incarnation,
    isDraining,
    isLeaving,
    key,
    load,
    member,
    owned,
    resting,
    url,
    version,
    warm,
  } = heartbeat;
  const isPartition = (each: unknown): boolean => isCount(each) && (each as number) < partitions;
  return (
    isCount(format) &&
    isCount(beat) &&
    isText(member) &&
    isText(incarnation) &&
    (key === undefined || isText(key)) &&
    [url, version].every((text) => typeof text === 'string') &&
    [isDraining, isLeaving].every((flag) => typeof flag === 'boolean') &&
    Array.isArray(owned) &&
    owned.length <= partitions &&
    owned.every((claim) => Array.isArray(claim) && isPartition(claim[0]) && isCount(claim[1])) &&
    Array.isArray(handovers) &&
    handovers.length <= partitions &&
    handovers.every((each) => Array.isArray(each) && isPartition(each[0]) && isText(each[1])) &&
    [warm, resting].every(
      (each) => Array.isArray(each) && each.length <= partitions && each.every(isPartition),
    ) &&
    typeof load === 'object' &&
    load !== null &&
    typeof formats === 'object' &&
    formats !== null &&
    [formats.records, formats.calls].every(isCount) &&
    [load.requestsInFlight, load.openActors, load.pendingBytes].every((each) => typeof each === 'number')
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= ID_LENGTH_MAX;
}
