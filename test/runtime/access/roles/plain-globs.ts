/**
 * Whether a pattern matches a path, by trying every possibility: written from the rules, for comparison. Its time grows
 * exponentially with the pattern.
 */
export function matchesPath(pattern: string, path: string): boolean {
  const wanted = pattern.replace(/^\/+/, '');
  const text = path.replace(/^\/+/, '');
  return wanted === '' || triesPath(wanted, text, true);
}

/** @param isStart whether a segment of the pattern begins here */
function triesPath(pattern: string, text: string, isStart: boolean): boolean {
  if (pattern === '') return text === '';
  if (isStart && /^\*{2,}$/.test(pattern)) return true;
  const optional = isStart ? /^\*{2,}\//.exec(pattern) : null;
  if (optional !== null) {
    const rest = pattern.slice(optional[0].length);
    if (triesPath(rest, text, true)) return true;
    for (let at = 0; at < text.length; at += 1)
      if (text[at] === '/' && triesPath(rest, text.slice(at + 1), true)) return true;
    return false;
  }
  if (/^\/\*{2,}(\/\*{2,})*$/.test(pattern)) return text === '' || text.startsWith('/');
  const stars = /^\*+/.exec(pattern)?.[0] ?? '';
  if (stars !== '') {
    const rest = pattern.slice(stars.length);
    for (let taken = 0; taken <= text.length; taken += 1) {
      if (stars.length === 1 && text.slice(0, taken).includes('/')) return false;
      if (triesPath(rest, text.slice(taken), false)) return true;
    }
    return false;
  }
  const first = pattern[0] as string;
  if (text === '' || (first === '?' ? text[0] === '/' : text[0] !== first)) return false;
  return triesPath(pattern.slice(1), text.slice(1), first === '/');
}

/** As {@link matchesPath}, for names of workspaces and branches. */
export function matchesName(pattern: string, name: string): boolean {
  if (/[^A-Za-z0-9._:/*?-]/.test(pattern)) return false;
  return pattern === '' || triesName(pattern, name);
}

function triesName(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern[0] === '*')
    return triesName(pattern.slice(1), name) || (name !== '' && triesName(pattern, name.slice(1)));
  if (name === '' || (pattern[0] !== '?' && pattern[0] !== name[0])) return false;
  return triesName(pattern.slice(1), name.slice(1));
}

/** Points of a pattern, as the rules count them. */
export function specificityOf(pattern: string): number {
  let sum = 0;
  let last = '';
  for (const segment of pattern.replace(/^\/+/, '').split('/')) {
    const isBare = /^\*\*+$/.test(segment);
    if (segment === '' || (isBare && /^\*\*+$/.test(last))) continue;
    last = segment;
    if (isBare) sum += 1 + 5;
    else if (segment.includes('**')) sum += 5 + 5;
    else if (/[*?]/.test(segment)) sum += 10 + 5;
    else sum += 100 + 5;
  }
  return sum;
}
