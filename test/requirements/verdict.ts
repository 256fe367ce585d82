import { type Requirement, requirementIdPattern, type Theme, themes } from './requirement.ts';
import type { TestOutcome, TestResults } from './test-results.ts';

/** What is wrong between manifest and tests; every list is sorted and free of repeats. */
export interface Verdict {
  /** Ids that stand on more than one row. */
  readonly duplicated: readonly string[];
  /** Ids in test titles that no row has, with one test that names each. */
  readonly unknown: ReadonlyMap<string, TestOutcome>;
  /** Rows `verified` without a passing test. */
  readonly unproven: readonly string[];
  /** Rows `verified` that a failing test names, whatever else passes. */
  readonly refuted: ReadonlyMap<string, TestOutcome>;
  /** Rows `planned` that a passing test proves. */
  readonly proven: readonly string[];
  /** Rows of each theme: how many are verified, of how many. */
  readonly themeCounts: ReadonlyMap<Theme, { readonly verified: number; readonly total: number }>;
}

const bracketPattern = /\[([^[\]]*)\]/g;
const idLikePattern = /^\s*[A-Za-z]+-\d+\b/;

/**
 * The requirement ids that a test title names: `[NODE-012]`, `[NODE-012, NODE-013]`, several brackets.
 * A bracket that starts like an id and is not one (`[node-12]`, `[NODE-012 NODE-013]`) is given back as it
 * stands, so that the gate reports it as unknown instead of passing over it. Other brackets mean nothing.
 */
export function idsInTitle(title: string): string[] {
  const ids: string[] = [];
  for (const [, content = ''] of title.matchAll(bracketPattern)) {
    if (!idLikePattern.test(content)) continue;
    const parts = content.split(',').map((part) => part.trim());
    ids.push(...(parts.every((part) => requirementIdPattern.test(part)) ? parts : [content]));
  }
  return ids;
}

/** The ids that stand on more than one row, sorted. */
export function duplicatedIds(rows: readonly Requirement[]): string[] {
  const seen = new Set<string>();
  const duplicated = new Set<string>();
  for (const { id } of rows) {
    if (seen.has(id)) duplicated.add(id);
    seen.add(id);
  }
  return [...duplicated].sort();
}

function countByTheme(rows: readonly Requirement[]): Verdict['themeCounts'] {
  return new Map(
    themes.map((theme) => {
      const ofTheme = rows.filter((row) => row.theme === theme);
      const verified = ofTheme.filter((row) => row.status === 'verified').length;
      return [theme, { verified, total: ofTheme.length }];
    }),
  );
}

/**
 * Compares the rows of the manifest with the outcomes of a whole test run.
 *
 * A row is proven when at least one test that names it passed and none failed; skipped tests count for nothing.
 */
export function judge(rows: readonly Requirement[], results: TestResults): Verdict {
  const known = new Set(rows.map((row) => row.id));
  const passed = new Set<string>();
  const failed = new Map<string, TestOutcome>();
  const unknown = new Map<string, TestOutcome>();
  for (const test of results.tests) {
    for (const id of idsInTitle(test.fullTitle)) {
      if (!known.has(id)) unknown.set(id, test);
      else if (test.outcome === 'passed') passed.add(id);
      else if (test.outcome === 'failed') failed.set(id, test);
    }
  }
  const verified = [...new Set(rows.filter((row) => row.status === 'verified').map((row) => row.id))].sort();
  const planned = [...new Set(rows.filter((row) => row.status === 'planned').map((row) => row.id))].sort();
  return {
    duplicated: duplicatedIds(rows),
    unknown: new Map([...unknown].sort(([left], [right]) => (left < right ? -1 : 1))),
    unproven: verified.filter((id) => !passed.has(id) && !failed.has(id)),
    refuted: new Map(verified.flatMap((id) => (failed.has(id) ? [[id, failed.get(id)!] as const] : []))),
    proven: planned.filter((id) => passed.has(id) && !failed.has(id)),
    themeCounts: countByTheme(rows),
  };
}
