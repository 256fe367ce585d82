const MEBIBYTE = 1024 * 1024;

/** Minimum supported heap limit, in MiB: bodies, answers and changes have shares of it. */
const HEAP_MIB_MIN = 256;

/**
 * Returns a warning when the heap of a process is smaller than supported.
 *
 * @param heapBytes maximum size of the heap
 * @returns undefined when it is large enough
 */
export function smallHeapWarning(heapBytes: number): string | undefined {
  const mebibytes = Math.floor(heapBytes / MEBIBYTE);
  if (mebibytes >= HEAP_MIB_MIN) return undefined;
  return `the heap may grow to ${mebibytes} MiB only, and ${HEAP_MIB_MIN} MiB is the least that is supported: requests are refused early, and large bodies can end the process; give the machine more memory or raise NODE_OPTIONS=--max-old-space-size`;
}
