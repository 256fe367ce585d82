/** Bytes checksummed, searched or decoded between two yields. A record of more bytes is large. */
export const STEP_BYTES = 256 * 1024;
