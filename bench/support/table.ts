import type { Sample } from './rounds.ts';
import { median, medianOf } from './rounds.ts';
import type { Answer } from './answer.ts';

/** `12,345`. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Median rate with the lowest and highest: `12,345 (12,001–12,500)`, below ten `1.23 (1.20–1.31)`. */
export function rate(samples: readonly Sample[]): string {
  const rates = samples.map((one) => one.perSecond);
  const middle = medianOf(samples, 'perSecond');
  const shown = middle < 10 ? (value: number): string => value.toFixed(2) : whole;
  return `${shown(middle)} (${shown(Math.min(...rates))}–${shown(Math.max(...rates))})`;
}

/** Median processor time of the server for a request: `12.3`. */
export function cpu(samples: readonly Sample[]): string {
  return medianOf(samples, 'cpuUs').toFixed(1);
}

/** Median processor time of a part of the server for a request: `12.3`. */
export function cpuOf(samples: readonly Sample[], part: string): string {
  return median(samples.map(({ partsUs }) => partsUs[part] ?? Number.NaN)).toFixed(1);
}

/** Ratio of two median rates: `0.62`. */
export function ratio(ours: readonly Sample[], theirs: readonly Sample[]): string {
  return (medianOf(ours, 'perSecond') / medianOf(theirs, 'perSecond')).toFixed(2);
}

/** Medians of p50 and p99 latency in milliseconds: `0.41 / 1.90`. */
export function latency(samples: readonly Sample[]): string {
  return `${medianOf(samples, 'p50Ms').toFixed(2)} / ${medianOf(samples, 'p99Ms').toFixed(2)}`;
}

/** Median time with the shortest and longest: `12.3 ms (11.9–15.0)`. */
export function milliseconds(times: readonly number[]): string {
  const [shortest, longest] = [Math.min(...times), Math.max(...times)];
  return `${median(times).toFixed(1)} ms (${shortest.toFixed(1)}–${longest.toFixed(1)})`;
}

/** `12.3 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The table and its notes as Markdown. Columns are aligned, so that it is readable in a terminal too. */
export function toMarkdown({ columns, rows, notes }: Answer): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length), 3),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(columns), rule, ...rows.map(line), ...notes.flatMap((note) => ['', note])].join('\n');
}
