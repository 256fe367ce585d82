/** The newest versions of exchanged and stored data that a member understands. */
export interface Formats {
  /** Format of the records of a log, see `RECORD_FORMAT`. */
  readonly records: number;
  /** Version of the calls between members, see `CALL_VERSION`. */
  readonly calls: number;
}

/**
 * Returns the formats that may be written and sent: no member that is present, or was present minutes ago, would refuse
 * them. So a version that adds a format writes the previous one until the last member is upgraded, and reads both.
 *
 * A silent member counts for as long as it is remembered: it may come back, and read what was written meanwhile.
 *
 * @param own of this member
 * @param others of all other known members
 * @see docs/decisions/0028-formats-in-a-mixed-cluster.md
 */
export function commonFormats(own: Formats, others: Iterable<Formats>): Formats {
  let { records, calls } = own;
  for (const other of others) {
    records = Math.min(records, other.records);
    calls = Math.min(calls, other.calls);
  }
  return { records, calls };
}
