import type { TestProject } from 'vitest/node';
import { startNatsCluster } from '#test/support/nats-cluster.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the NATS server of project `cluster` is; elsewhere there is none. */
    natsUrl?: string;
  }
}

/** Starts the one NATS server that every server of this run uses, each under names of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const nats = await startNatsCluster(1);
  project.provide('natsUrl', nats.urls.join(','));
  return () => nats.close();
}
