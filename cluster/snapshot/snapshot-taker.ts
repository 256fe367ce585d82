/** Members that have a partition, for {@link snapshotTaker}. */
export interface PartitionHolders {
  /** Undefined while no owner is known. */
  readonly owner: string | undefined;
  /** Members that follow it closely, in an order that all members agree on. */
  readonly warmFollowers: readonly string[];
}

/**
 * Returns the member that is to take the next snapshot of a partition: a follower, so that it costs the owner
 * nothing, and with two followers another one than last time, so that the two kept snapshots do not come from one
 * disk. The owner without followers. Members with the same view agree; where they do not, one of the two snapshots
 * does not count.
 *
 * @param last the member that took the newest one
 */
export function snapshotTaker(
  { owner, warmFollowers }: PartitionHolders,
  last: string | undefined,
): string | undefined {
  return warmFollowers.find((member) => member !== last) ?? warmFollowers[0] ?? owner;
}
