import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const nats = sharedNatsCluster(1);
const alertsFile = join(projectRoot, 'docs/prometheus/alerts.yml');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook: string;
  };
}

const { groups } = parse(readFileSync(alertsFile, 'utf8')) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

/** Names of exported series with the labels each has been seen with. */
const series = new Map<string, Set<string>>();

/** Series of each server. */
const counts: number[] = [];

async function collect(server: TestServer): Promise<void> {
  const read = async (): Promise<string> => (await server.request('GET', '/metrics')).text;
  // The status is read in the background: the first answer is without it.
  await until(async () => /^svc_warnings\{/m.test(await read()), 'the status has been read');
  await until(async () => /^svc_backup_finished_timestamp/m.test(await read()), 'backups were looked for');
  const text = await read();
  counts.push([...text.matchAll(/^\w+(?:\{.*\})? /gm)].length);
  for (const [, name] of text.matchAll(/^# TYPE (\w+) /gm)) labelsOf(name as string);
  for (const [, name, labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm))
    for (const [, label] of labels.matchAll(/(\w+)="/g)) labelsOf(name as string).add(label as string);
}

function labelsOf(name: string): Set<string> {
  const labels = series.get(name) ?? new Set();
  series.set(name, labels);
  return labels;
}

beforeAll(async () => {
  const alone = await startServer();
  const env = {
    SVC_NATS_URL: nats().urls.join(','),
    JWT_SECRET: 'a secret that all members of a cluster share',
    SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
  };
  const member = await startServer({ config: '[cluster]\npartitions = 2\nreplicas = 1\n', env });
  try {
    await collect(alone);
    await collect(member);
  } finally {
    await alone.close();
    await member.close();
  }
});

/** Words of an expression that are no metrics. */
const keywords = new Set(['and', 'or', 'unless', 'by', 'without', 'on', 'ignoring', 'bool', 'offset']);

/** Metrics that an expression names, each with the labels it is selected by. */
function metricsIn(expression: string): (readonly [name: string, labels: readonly string[]])[] {
  const plain = expression.replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  return [...plain.matchAll(/\b([a-zA-Z_]\w*)\b(\s*\()?(?:\{([^}]*)\})?(?![^{]*\})/g)].flatMap(
    ([, name, isCall, selectors = '']) =>
      isCall !== undefined || keywords.has(name as string)
        ? []
        : [
            [
              name as string,
              [...selectors.matchAll(/(\w+)\s*=/g)].map(([, label]) => label as string),
            ] as const,
          ],
  );
}

describe('the numbers of a member', () => {
  it('are few enough to be collected from every member', () => {
    for (const count of counts) expect(count).toBeLessThan(900);
    expect(counts).toHaveLength(2);
  });

  it('include the build', () => {
    expect([...(series.get('svc_build_info') ?? [])].sort()).toEqual(['mode', 'node', 'version']);
  });
});

describe('the alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s names metrics and labels that servers export',
    (_, { expr }) => {
      // What a duration or a string has in it is no metric.
      const named = metricsIn(expr.replaceAll(/\[\w+\]/g, ' '));
      expect(named.length).toBeGreaterThan(0);
      for (const [name, selected] of named) {
        if (name === 'up') continue;
        const labels = series.get(name);
        expect(labels, name).toBeDefined();
        for (const label of selected) expect([name, label, labels?.has(label)]).toEqual([name, label, true]);
      }
      const opening = expr.split('(').length;
      expect(opening).toBe(expr.split(')').length);
    },
  );

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s names its urgency, its meaning and the page about it',
    (alert, { annotations, labels }) => {
      expect(alert).toMatch(/^Grove[A-Z]\w+$/);
      expect(labels.severity).toBeOneOf(['page', 'ticket']);
      expect(annotations.summary).not.toBe('');
      expect(annotations.description).toMatch(/\.$/);
      const [page, anchor] = annotations.runbook.split('#') as [string, string];
      const headings = readFileSync(join(projectRoot, page), 'utf8').matchAll(/^#+ (.+)$/gm);
      const anchors = [...headings].map(([, heading]) =>
        (heading as string)
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
      expect(anchors).toContain(anchor);
    },
  );

  it('have names of their own', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('are accepted by Prometheus, if it is installed', () => {
    const { error, status, stderr, stdout } = spawnSync('promtool', ['check', 'rules', alertsFile], {
      encoding: 'utf8',
    });
    if (error === undefined)
      expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    else expect((error as NodeJS.ErrnoException).code).toBe('ENOENT');
  });
});

describe('the example of a configuration', () => {
  const text = readFileSync(join(projectRoot, 'docs/prometheus/scrape.yml'), 'utf8');

  it('collects the numbers of members, with the token they take', () => {
    const configuration = parse(text) as {
      readonly rule_files: readonly string[];
      readonly scrape_configs: readonly Record<string, unknown>[];
    };
    expect(configuration.rule_files).toHaveLength(1);
    expect(configuration.scrape_configs).toEqual([
      expect.objectContaining({
        job_name: 'grove',
        metrics_path: '/metrics',
        authorization: { type: 'Bearer', credentials_file: expect.any(String) },
        static_configs: [expect.objectContaining({ labels: { cluster: expect.any(String) } })],
      }),
    ]);
    expect(rules.some(({ expr }) => expr.includes('up{job="grove"}'))).toBe(true);
  });

  it('is printed unchanged on the page for operators', () => {
    expect(documentBlocks('docs/operations.md').map((block) => block.text)).toContain(text);
  });
});
