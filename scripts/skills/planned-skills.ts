/** The skills that are to be there: one may name another that is not written yet. */
export const PLANNED: readonly string[] = `
  code-review decision-record estimate-effort debug-error design-api write-tests refactor-code plan-database-migration tune-performance
  data-analysis write-sql clean-dataset design-experiment choose-chart define-metric explain-metric-change design-survey forecast-demand
  summarize-document translate-text write-email edit-text write-article write-user-guide compare-versions outline-presentation extract-fields
  explain-concept research-question check-claim compare-options review-papers plan-learning make-quiz analyze-competitor conduct-interview
  triage-incident investigate-logs write-postmortem write-runbook hand-over-on-call plan-change set-alerts plan-capacity communicate-outage
  threat-model review-access assess-vulnerability analyze-phishing handle-data-request assess-privacy-impact answer-security-questionnaire review-vendor handle-data-breach
  qualify-lead write-proposal prepare-sales-call review-account-health synthesize-feedback answer-support-request handle-complaint write-case-study analyze-lost-deals
  calculate-loan check-invoice compare-quotes forecast-cash-flow review-contract review-expenses set-price write-job-posting collect-payment
  meeting-notes plan-project plan-week prepare-meeting prioritize-tasks retrospective weekly-status-update plan-budget set-goals
`
  .trim()
  .split(/\s+/);
