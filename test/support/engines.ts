import { directoryKey } from '#server/host/directory-key.ts';
import { findSecrets } from '#runtime/config/secrets.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClusterEngine } from '#server/engine/open-cluster-engine.ts';
import { openEmbeddedEngine } from '#server/engine/embedded-engine.ts';
import { openSpaceGate } from '#server/host/space-watch.ts';
import type { EngineEnvironment, MemberEngine } from '#server/engine/engine.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import type { RoutersUnderTest } from '#test/runtime/actor/router-conformance.ts';
import { noteActor } from './note-actor.ts';

let made = 0;

/** Members without anything above their engines. */
export interface EnginesUnderTest extends RoutersUnderTest {
  readonly members: readonly MemberEngine[];
}

/** Engines with actors of the kind `notes`, without anything above them. */
async function openEngines(
  count: number,
  env: Readonly<Record<string, string>>,
  config: string,
  open: (environment: EngineEnvironment) => Promise<MemberEngine>,
): Promise<EnginesUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'grove-engines-'));
  const engines = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const own = {
        SVC_CONFIG: 'svc.toml',
        SVC_DATA_DIR: join(folder, String(index)),
        SVC_MEMBER_ID: `m${index}`,
      };
      const options = loadOptions({ ...env, ...own }, () => config);
      const metrics = new Metrics({ collectDefaults: false });
      const secrets = findSecrets(options.server, systemRandom);
      return open({
        options,
        key: directoryKey(secrets),
        secrets,
        keyFindings: () => [],
        kinds: [noteActor],
        observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
        clock: systemClock,
        slices: new SliceScheduler(systemClock),
        random: systemRandom,
        log: silentLog,
        metrics,
        space: openSpaceGate(options, silentLog, metrics),
        folders: { findings: [] },
        checkResults: { findings: [] },
        files: realFileSystem,
        lock: await acquireDataDirectory(own.SVC_DATA_DIR, claimName),
        version: '1.2.3',
        state: () => 'ready',
        requestsInFlight: () => 0,
        onOwned: () => {},
      });
    }),
  );
  await Promise.all(engines.map((engine, index) => engine.start(() => `http://127.0.0.1:${index + 1}`)));
  return {
    members: engines,
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A member alone. */
export function openEmbeddedRouters(): Promise<EnginesUnderTest> {
  return openEngines(1, {}, '', openEmbeddedEngine);
}

/** Members of a cluster. @param urls of the NATS servers, @param replicas of each log */
export function openClusterRouters(
  urls: readonly string[],
  replicas: number,
  members: number,
): Promise<EnginesUnderTest> {
  made += 1;
  const config = `[cluster]\nname = "engines-${made}"\npartitions = 4\nreplicas = ${replicas}\nlog_bytes_max = 67108864\n`;
  const secrets = {
    JWT_SECRET: 'a secret that all members of a cluster share',
    SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
  };
  return openEngines(members, { ...secrets, SVC_NATS_URL: urls.join(',') }, config, openClusterEngine);
}
