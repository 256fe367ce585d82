/** Between two looks, in milliseconds. */
const POLL_MS = 20;

/** Where code is run that lacks something, what a test waits for may never come: then the wait is shorter. */
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 20_000);

/**
 * Waits until something is so.
 *
 * @param what named when it takes too long
 * @param msMax time it may take, in milliseconds
 */
export async function until(
  isSo: () => Promise<boolean> | boolean,
  what: string,
  msMax = PATIENCE_MS,
): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${msMax} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
