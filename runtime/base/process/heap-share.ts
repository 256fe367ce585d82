import { getHeapStatistics } from 'node:v8';

/**
 * Heap of a process without load, plus the part of the limit for short-lived objects: 48 MiB are for the young
 * generation, and 40 to 50 MiB are in use after a start. Measured with Node 22.
 */
const IDLE_BYTES = 96 * 1024 * 1024;

/** Minimum that is divided, however small the heap is. */
const SHARED_BYTES_MIN = 8 * 1024 * 1024;

/**
 * A part of the heap available for load.
 *
 * @param parts number of parts
 * @param heapBytes maximum size of the heap
 * @returns bytes of one part
 */
export function heapShare(parts: number, heapBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.floor(Math.max(heapBytes - IDLE_BYTES, SHARED_BYTES_MIN) / parts);
}
