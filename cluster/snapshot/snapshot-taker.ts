/** Who has a partition, for {@link snapshotTaker}. */
export interface PartitionHolders {
  /** Undefined while nobody is known to own it. */
  readonly owner: string | undefined;
  /** Members that follow it closely, in an order all members agree on. */
  readonly warmFollowers: readonly string[];
}

/**
 * The member that is to take the next snapshot of a partition: a follower, so that it costs the owner nothing, and
 * where there are two another one than last time, so that the two kept snapshots do not come from one disk. The owner
 * where nobody follows. Members that see the same agree; where they do not, one of the two snapshots does not count.
 *
 * @param last who took the newest one
 */
export function snapshotTaker(
  { owner, warmFollowers }: PartitionHolders,
  last: string | undefined,
): string | undefined {
  return warmFollowers.find((member) => member !== last) ?? warmFollowers[0] ?? owner;
}
