import type { CrashPointName } from '#runtime/commit/crash-point.ts';
import { startServerProcess } from './server-process.ts';

/** Which passes a point is struck at: logging in takes the first of the writing points. */
const passes: Partial<Record<CrashPointName, readonly number[]>> = {
  'before-append': [2, 3],
  'after-append-sent': [2, 3],
  'after-durable': [2, 3],
  'before-apply': [1, 2],
  'mid-apply': [1, 2],
  'before-reply': [2, 3],
};

/** Where one write over HTTP may be cut, as `name:hit`. */
export const strikes: readonly string[] = Object.entries(passes).flatMap(([name, hits]) =>
  hits.map((hit) => `${name}:${hit}`),
);

/**
 * Sends one request about a repository of tenant `default` to a process that dies at a crash point, or after its
 * answer.
 *
 * @param crashPoint `name:hit`
 * @param rest `/branches`, `/branches/main/merge`
 * @returns the status, 0 when it died first
 */
export async function requestUntilCrash(
  dataDir: string,
  repository: string,
  crashPoint: string,
  method: string,
  rest: string,
  body?: unknown,
): Promise<number> {
  const server = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: crashPoint } });
  const token = await server.logIn().catch(() => undefined);
  let status = 0;
  if (token !== undefined) {
    const path = `/api/management/repositories/default/${repository}${rest}`;
    status = await server.request(method, path, body === undefined ? { token } : { token, body }).then(
      (answer) => answer.status,
      () => 0,
    );
  }
  await server.kill('SIGKILL');
  await server.close();
  return status;
}
