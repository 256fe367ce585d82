import type { IToken } from 'chevrotain';
import { AccessGrammar } from './access-grammar.ts';
import type {
  AlterBranchStatement,
  CompareBranchesStatement,
  ConflictResolution,
  CreateBranchStatement,
  DescribeBranchStatement,
  DropBranchStatement,
  MergeBranchStatement,
  ShowBranchesStatement,
  UseBranchStatement,
} from './nodes/branch-nodes.ts';
import type { GivenText } from './nodes/given-nodes.ts';
import { comma, keywords, leftParenthesis, rightParenthesis } from './tokens.ts';

/** A value that may be changed. */
type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/**
 * The rules for statements about branches. CREATE, ALTER, DROP, SHOW and DESCRIBE were read before: these rules begin with
 * the second word and get the offset of the first.
 */
export abstract class BranchGrammar extends AccessGrammar {
  protected readonly createBranch = this.RULE('createBranch', (start: number): CreateBranchStatement => {
    this.CONSUME(keywords.BRANCH);
    const name = this.SUBRULE(this.givenName);
    const parts: Partial<Mutable<CreateBranchStatement>> = {};
    let hasHistory = false;
    const once = (isWritten: boolean, clause: string, word: IToken): void => {
      this.ACTION(() => {
        if (isWritten) throw this.clauseTwice(clause, word.startOffset);
      });
    };
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            once(parts.from !== undefined, 'FROM', this.CONSUME(keywords.FROM));
            parts.from = this.SUBRULE2(this.givenName);
          },
        },
        {
          ALT: () => {
            once(parts.at !== undefined, 'AT REVISION', this.CONSUME(keywords.AT));
            this.CONSUME(keywords.REVISION);
            parts.at = this.SUBRULE(this.restoredRevision);
          },
        },
        {
          ALT: () => {
            once(parts.description !== undefined, 'DESCRIPTION', this.CONSUME(keywords.DESCRIPTION));
            parts.description = this.SUBRULE(this.givenText);
          },
        },
        {
          ALT: () => {
            once(parts.isProtected === true, 'PROTECTED', this.CONSUME(keywords.PROTECTED));
            this.ACTION(() => {
              parts.isProtected = true;
            });
          },
        },
        {
          ALT: () => {
            once(parts.upstream !== undefined, 'UPSTREAM', this.CONSUME(keywords.UPSTREAM));
            parts.upstream = this.SUBRULE3(this.givenName);
          },
        },
        {
          ALT: () => {
            once(hasHistory, 'WITH HISTORY', this.CONSUME(keywords.WITH));
            this.CONSUME(keywords.HISTORY);
            this.ACTION(() => {
              hasHistory = true;
            });
          },
        },
      ]);
    });
    return this.ACTION(() => ({
      kind: 'create-branch',
      name,
      from: parts.from,
      at: parts.at,
      description: parts.description,
      isProtected: parts.isProtected === true,
      upstream: parts.upstream,
      span: this.spanFrom(start),
    }));
  });

  protected readonly alterBranch = this.RULE('alterBranch', (start: number): AlterBranchStatement => {
    this.CONSUME(keywords.BRANCH);
    const name = this.SUBRULE(this.givenName);
    const change = this.choose<AlterBranchStatement['change']>([
      {
        ALT: () => {
          this.CONSUME(keywords.SET);
          return this.SUBRULE(this.branchSetting);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.UNSET);
          this.CONSUME(keywords.UPSTREAM);
          return { kind: 'upstream', upstream: undefined };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.RENAME);
          this.CONSUME(keywords.TO);
          return { kind: 'rename', name: this.SUBRULE2(this.givenName) };
        },
      },
    ]);
    return this.ACTION(() => ({ kind: 'alter-branch', name, change, span: this.spanFrom(start) }));
  });

  private readonly branchSetting = this.RULE('branchSetting', (): AlterBranchStatement['change'] =>
    this.choose<AlterBranchStatement['change']>([
      {
        ALT: () => {
          this.CONSUME(keywords.UPSTREAM);
          return { kind: 'upstream', upstream: this.SUBRULE(this.givenName) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.PROTECTED);
          return { kind: 'protected', isProtected: this.SUBRULE(this.flag) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DESCRIPTION);
          return { kind: 'description', text: this.SUBRULE(this.givenText) };
        },
      },
    ]),
  );

  protected readonly dropBranch = this.RULE('dropBranch', (start: number): DropBranchStatement => {
    this.CONSUME(keywords.BRANCH);
    const ifExists = this.SUBRULE(this.ifExists);
    const name = this.SUBRULE(this.givenName);
    return this.ACTION(() => ({ kind: 'drop-branch', name, ifExists, span: this.spanFrom(start) }));
  });

  protected readonly describeBranch = this.RULE(
    'describeBranch',
    (start: number): DescribeBranchStatement => {
      this.CONSUME(keywords.BRANCH);
      const name = this.SUBRULE(this.givenName);
      return this.ACTION(() => ({ kind: 'describe-branch', name, span: this.spanFrom(start) }));
    },
  );

  protected readonly mergeBranch = this.RULE('mergeBranch', (): MergeBranchStatement => {
    const { startOffset } = this.CONSUME(keywords.MERGE);
    this.CONSUME(keywords.BRANCH);
    const source = this.SUBRULE(this.givenName);
    this.CONSUME(keywords.INTO);
    const target = this.SUBRULE2(this.givenName);
    let strategy: MergeBranchStatement['strategy'];
    let message: GivenText | undefined;
    let resolutions: readonly ConflictResolution[] | undefined;
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            const word = this.CONSUME(keywords.USING);
            this.ACTION(() => {
              if (strategy !== undefined) throw this.clauseTwice('USING', word.startOffset);
            });
            strategy = this.SUBRULE(this.mergeStrategy);
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.MESSAGE);
            this.ACTION(() => {
              if (message !== undefined) throw this.clauseTwice('MESSAGE', word.startOffset);
            });
            message = this.SUBRULE(this.givenText);
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.RESOLVE);
            this.ACTION(() => {
              if (resolutions !== undefined) throw this.clauseTwice('RESOLVE CONFLICTS', word.startOffset);
            });
            resolutions = this.SUBRULE(this.conflictResolutions);
          },
        },
      ]);
    });
    return this.ACTION(() => ({
      kind: 'merge-branch',
      source,
      target,
      strategy,
      message,
      resolutions: resolutions ?? [],
      span: this.spanFrom(startOffset),
    }));
  });

  private readonly mergeStrategy = this.RULE(
    'mergeStrategy',
    (): NonNullable<MergeBranchStatement['strategy']> => {
      const word = this.OR([
        { ALT: () => this.CONSUME(keywords.FAST_FORWARD) },
        { ALT: () => this.CONSUME(keywords.THREE_WAY) },
      ]);
      return word.tokenType === keywords.FAST_FORWARD ? 'fast-forward' : 'three-way';
    },
  );

  private readonly conflictResolutions = this.RULE('conflictResolutions', (): ConflictResolution[] => {
    const list: ConflictResolution[] = [];
    this.CONSUME(keywords.CONFLICTS);
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => list.push(this.SUBRULE(this.conflictResolution)) });
    this.CONSUME(rightParenthesis);
    return list;
  });

  /** `('id' [, 'locale'], decision)`. */
  private readonly conflictResolution = this.RULE('conflictResolution', (): ConflictResolution => {
    const { startOffset } = this.CONSUME(leftParenthesis);
    const nodeId = this.SUBRULE(this.givenText);
    this.CONSUME(comma);
    const locale = this.OPTION(() => {
      const given = this.SUBRULE2(this.givenText);
      this.CONSUME2(comma);
      return given;
    });
    const decision = this.SUBRULE(this.conflictDecision);
    this.CONSUME(rightParenthesis);
    return this.ACTION(() => ({ nodeId, locale, decision, span: this.spanFrom(startOffset) }));
  });

  private readonly conflictDecision = this.RULE('conflictDecision', (): ConflictResolution['decision'] =>
    this.choose<ConflictResolution['decision']>([
      {
        ALT: () => {
          this.CONSUME(keywords.KEEP_OURS);
          return { kind: 'keep-ours' };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.KEEP_THEIRS);
          return { kind: 'keep-theirs' };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DELETE);
          return { kind: 'delete' };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.USE_VALUE);
          return { kind: 'use-value', json: this.SUBRULE(this.givenText) };
        },
      },
    ]),
  );

  protected readonly showBranches = this.RULE('showBranches', (start: number): ShowBranchesStatement => {
    this.CONSUME(keywords.BRANCHES);
    return this.ACTION(() => ({ kind: 'show-branches', span: this.spanFrom(start) }));
  });

  protected readonly showCurrentBranch = this.RULE(
    'showCurrentBranch',
    (start: number): ShowBranchesStatement => {
      this.CONSUME(keywords.CURRENT);
      this.CONSUME(keywords.BRANCH);
      return this.ACTION(() => ({ kind: 'show-current-branch', span: this.spanFrom(start) }));
    },
  );

  protected readonly showDivergence = this.RULE(
    'showDivergence',
    (start: number): CompareBranchesStatement => {
      this.CONSUME(keywords.DIVERGENCE);
      const branch = this.SUBRULE(this.givenName);
      this.CONSUME(keywords.FROM);
      const base = this.SUBRULE2(this.givenName);
      return this.ACTION(() => ({ kind: 'show-divergence', branch, base, span: this.spanFrom(start) }));
    },
  );

  protected readonly showConflicts = this.RULE('showConflicts', (start: number): CompareBranchesStatement => {
    this.CONSUME(keywords.CONFLICTS);
    this.CONSUME(keywords.FOR);
    this.CONSUME(keywords.MERGE);
    const branch = this.SUBRULE(this.givenName);
    this.CONSUME(keywords.INTO);
    const base = this.SUBRULE2(this.givenName);
    return this.ACTION(() => ({ kind: 'show-conflicts', branch, base, span: this.spanFrom(start) }));
  });

  /** `USE [LOCAL] BRANCH b`, `CHECKOUT [LOCAL] BRANCH b`. */
  protected readonly useBranch = this.RULE('useBranch', (): UseBranchStatement => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.USE) },
      { ALT: () => this.CONSUME(keywords.CHECKOUT) },
    ]);
    const local = this.OPTION(() => this.CONSUME(keywords.LOCAL));
    this.CONSUME(keywords.BRANCH);
    const name = this.SUBRULE(this.givenName);
    return this.ACTION(() => ({
      kind: 'use-branch',
      name,
      isLocal: local !== undefined,
      span: this.spanFrom(word.startOffset),
    }));
  });
}
