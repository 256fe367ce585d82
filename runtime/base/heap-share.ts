import { getHeapStatistics } from 'node:v8';

/**
 * What the heap holds of a process without any load, and what its limit counts that lives too short to matter: 48 MiB
 * of it are for the youngest objects, and 40 to 50 MiB are in use after a start. Measured with Node 22.
 */
const IDLE_BYTES = 96 * 1024 * 1024;

/** Least that is divided, however small the heap is. */
const SHARED_BYTES_MIN = 8 * 1024 * 1024;

/**
 * A part of what the heap has beside the process itself.
 *
 * @param parts into how many it is divided
 * @param heapBytes what the heap may grow to
 * @returns bytes of one part
 */
export function heapShare(parts: number, heapBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.floor(Math.max(heapBytes - IDLE_BYTES, SHARED_BYTES_MIN) / parts);
}
