import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clusterWarningSeverities } from '#protocols/rest/management/cluster-warnings.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const nats = sharedNatsCluster(1);
const document = readFileSync(join(projectRoot, 'docs/operations.md'), 'utf8');
const blocks = documentBlocks('docs/operations.md');

/** First cells of the rows of a table that begin with code. */
function firstCells(heading: string): string[] {
  const section = document.slice(document.indexOf(`\n## ${heading}\n`) + 1).split('\n## ')[0] as string;
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name as string);
}

async function servedMetrics(server: TestServer): Promise<string[]> {
  const { text } = await server.request('GET', '/metrics');
  return [...text.matchAll(/^# TYPE (svc_\w+) /gm)].map(([, name]) => name as string).sort();
}

describe('the page for operators', () => {
  it.each([
    'operator/local-cluster/nats.conf',
    'operator/local-cluster/haproxy.cfg',
    'operator/local-cluster/nginx.conf',
  ])('shows %s as it is', (path) => {
    expect(blocks.map(({ text }) => text)).toContain(readFileSync(join(projectRoot, path), 'utf8'));
  });

  it('describes the urgency and meaning of every warning, and of no other', () => {
    const rows = [...document.matchAll(/^\| `([a-z-]+)` \| (alarm|notice) \| .+ \| .+ \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, severity]) => [code, severity]))).toEqual(
      clusterWarningSeverities,
    );
  });

  it('describes every metric of a member, and no other', async () => {
    const server = await startServer();
    try {
      expect(firstCells('Metrics').sort()).toEqual(await servedMetrics(server));
    } finally {
      await server.close();
    }
  });

  it('describes every metric of a member of a cluster, and no other', async () => {
    const env = {
      SVC_NATS_URL: nats().urls.join(','),
      JWT_SECRET: 'a secret that all members of a cluster share',
      SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
    };
    const server = await startServer({ config: '[cluster]\npartitions = 2\nreplicas = 1\n', env });
    try {
      const described = [...firstCells('Metrics'), ...firstCells('Metrics of a cluster')];
      const ofOneAlone = ['svc_journal_fsync_seconds', 'svc_writes_stopped'];
      expect(described.filter((name) => !ofOneAlone.includes(name)).sort()).toEqual(
        (await servedMetrics(server)).filter((name) => !ofOneAlone.includes(name)),
      );
    } finally {
      await server.close();
    }
  });

  it('shows a configuration file and variables that members take', () => {
    const file = blocks.find(({ language }) => language === 'toml')?.text;
    const options = loadOptions(
      {
        SVC_NATS_URL: 'nats://grove:secret@10.0.0.11:4222',
        JWT_SECRET: 'a signing key of more than 32 bytes',
        SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
        SVC_CONFIG: 'grove.toml',
      },
      () => file,
    );
    expect(options.cluster.natsMonitorUrls).toHaveLength(3);
    const configuration = readFileSync(join(projectRoot, 'docs/configuration.md'), 'utf8');
    for (const [, name] of document.matchAll(/`(SVC_\w+|JWT_SECRET)`/g))
      expect([name, name === 'SVC_CONFIG' || configuration.includes(`\`${name}\``)]).toEqual([name, true]);
  });
});
