/** The shards of a partition failed on this member's disk; its log is not affected. */
export class ShardFailure extends Error {
  override readonly name = 'ShardFailure';

  constructor(cause: unknown) {
    super('the shards of a partition failed', { cause });
  }
}

/** Runs an operation on shards. @throws {ShardFailure} for any error of it */
export async function withShards<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw new ShardFailure(cause);
  }
}
