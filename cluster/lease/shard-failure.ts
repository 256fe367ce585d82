import { ServiceError } from '#runtime/errors/service-error.ts';

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

/**
 * Whether what is stored cannot be trusted, so that trying again would be of no use. Errors about the log say at which
 * record it was: then nothing may be thrown away, for the shards may be all there is.
 */
export function isDamage(cause: unknown): boolean {
  return cause instanceof ServiceError && cause.code === 'DATA_CORRUPTED' && cause.details === undefined;
}
