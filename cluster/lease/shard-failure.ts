/** The shards of a partition failed on this member's disk; its log is as well as it was. */
export class ShardFailure extends Error {
  override readonly name = 'ShardFailure';

  constructor(cause: unknown) {
    super('the shards of a partition failed', { cause });
  }
}

/** Runs something that works with shards. @throws {ShardFailure} whatever it fails with */
export async function withShards<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw new ShardFailure(cause);
  }
}
