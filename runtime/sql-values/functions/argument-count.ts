import { invalid } from '#runtime/errors/service-error.ts';

/** @throws {ServiceError} `VALIDATION_FAILED` for too few or too many arguments */
export function requireCount(
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
  count: number,
): void {
  if (count >= least && count <= most) return;
  const atMost = most === Number.POSITIVE_INFINITY ? undefined : most;
  const expected =
    atMost === undefined ? `at least ${least}` : atMost === least ? `${least}` : `${least} to ${atMost}`;
  throw invalid(`Invalid argument count for ${name}: expected ${expected}, got ${count}`);
}
