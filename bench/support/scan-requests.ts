import { Agent, request } from 'node:http';
import type { GroveServer } from './grove-server.ts';
import type { Load } from './rounds.ts';
import { runScript } from './wrk.ts';

/** A request that reads many nodes. */
export interface ScanRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

/**
 * Share of a measurement up to which a request is short. `wrk` stops at the end of the measurement and does not count
 * the request that is being answered; a longer one is measured until its answer ends.
 */
const SHORT_SHARE = 0.05;

/** Whether a request is served. @throws {Error} when it is neither answered 200 nor refused as too expensive */
export async function isScanServed(server: GroveServer, scan: ScanRequest): Promise<boolean> {
  const status = await send(server, new Agent(), scan);
  if (status !== 200 && status !== 413) throw new Error(`${scan.method} ${scan.path}: ${status}`);
  return status === 200;
}

/**
 * Sends the same request over one connection, one after the other, for some seconds and at least once.
 *
 * @throws {Error} when an answer was not 200
 */
export async function sendScans(server: GroveServer, scan: ScanRequest, seconds: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true });
  const began = performance.now();
  const sendOne = async (): Promise<void> => {
    const status = await send(server, agent, scan);
    if (status !== 200) throw new Error(`${scan.method} ${scan.path}: ${status}`);
  };
  await sendOne();
  const firstMs = performance.now() - began;
  if (firstMs < seconds * 1000 * SHORT_SHARE) {
    agent.destroy();
    return runScript('scan', server.port, 1, seconds, {
      BENCH_TOKEN: server.token,
      BENCH_METHOD: scan.method,
      BENCH_PATH: scan.path,
      BENCH_BODY: scan.body ?? '',
    });
  }
  let requests = 1;
  for (; performance.now() - began < seconds * 1000; requests++) await sendOne();
  agent.destroy();
  return { requests, perSecond: (requests * 1000) / (performance.now() - began) };
}

/** @returns the status, once the whole answer has arrived */
function send({ port, token }: GroveServer, agent: Agent, scan: ScanRequest): Promise<number> {
  const { body = '', method, path } = scan;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, agent, headers }, (response) => {
      response.on('end', () => resolve(response.statusCode ?? 0)).on('error', reject);
      response.resume();
    })
      .on('error', reject)
      .end(body);
  });
}
