import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clusterWarningSeverities } from '#protocols/rest/cluster-warnings.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { startServer } from '#test/support/server.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const document = readFileSync(join(projectRoot, 'docs/operations.md'), 'utf8');
const blocks = documentBlocks('docs/operations.md');

/** First cells of the rows of a table that begin with code. */
function firstCells(heading: string): string[] {
  const section = document.slice(document.indexOf(`\n## ${heading}\n`) + 1).split('\n## ')[0] as string;
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name as string);
}

describe('the page for operators', () => {
  it.each(['cluster/local/nats.conf', 'cluster/local/haproxy.cfg'])('shows %s as it is', (path) => {
    expect(blocks.map(({ text }) => text)).toContain(readFileSync(join(projectRoot, path), 'utf8'));
  });

  it('says of every warning how urgent it is and what it means, and of no other', () => {
    const rows = [...document.matchAll(/^\| `([a-z-]+)` \| (alarm|notice) \| .+ \| .+ \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, severity]) => [code, severity]))).toEqual(
      clusterWarningSeverities,
    );
  });

  it('says of every number of a member what it is, and of no other', async () => {
    const server = await startServer();
    try {
      const { text } = await server.request('GET', '/metrics');
      const served = [...text.matchAll(/^# TYPE (svc_\w+) /gm)].map(([, name]) => name as string);
      expect(firstCells('Metrics').sort()).toEqual(served.sort());
    } finally {
      await server.close();
    }
  });

  it('shows a configuration file and variables that members take', () => {
    const file = blocks.find(({ language }) => language === 'toml')?.text;
    const options = loadOptions(
      {
        SVC_NATS_URL: 'nats://grove:secret@10.0.0.11:4222',
        JWT_SECRET: 'j'.repeat(48),
        SVC_MASTER_KEY: 'a'.repeat(64),
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
