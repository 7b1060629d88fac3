import { stemOf } from './search-terms.ts';

/*
 * Words that people use for one another when they ask for work to be done: general vocabulary of offices, shops and
 * software, groups between bars. Some belong to several groups. The list was collected with one half of the questions
 * in test/corpus/skills in view, and never with the other.
 */
const GROUPS = `
  accept approve confirm consent | accident incident mishap | adapt adjust change modify | advert ad posting | advice recommend suggest propose
  afraid fear risk worry concern | agenda schedule timetable plan | alert alarm page monitor notify
  amount sum total | announce inform notify communicate statement | anonymous personal privacy identity | api endpoint interface rest
  apologize apology sorry regret | applicant candidate resume | approach method strategy | architecture design structure | arithmetic calculate compute
  article blog post piece | article newsletter column story text | ask question request inquiry | assess evaluate judge rate score review
  attachment link email message suspicious | audience reader listener viewer | audit check inspect review examine verify | authority regulator law
  average mean median typical | backlog list queue requests | backup restore copy | bar line pie chart axis | barrier blocker obstacle stuck
  behavior conduct act | benefit advantage pro | billing charge invoice | board committee management steering executives | book read chapter
  boss manager executive leader director | bottleneck slow limit | brainstorm idea creative | branch merge commit pull diff | breakdown failure defect
  broken damaged defect faulty | browser website page site | budget spending allocate funding | bug error crash exception defect broken fail failure
  bullet slide point | busy overloaded workload capacity | buy purchase order procurement | call phone ring telephone
  campaign advertising marketing promotion | cancel terminate quit end stop | capacity load growth scale traffic | car vehicle van
  case story success reference | category group label class theme | cause reason why source | certificate key secret token
  chair host moderate facilitate | change maintenance rollout | chapter section part outline | chart graph plot visualize diagram | chase remind dunning
  cheat dishonest fraud | choose select option decide | churn leave cancel quit renew | citation reference source
  class course lesson training workshop | clause paragraph term section | clean duplicate messy tidy | client customer account buyer shopper
  code program software script function | colleague coworker teammate | column row table field cell | combine merge join | commit promise agree
  company organization firm vendor | compare comparison versus difference better | competitor rival | complain complaint annoyed unhappy dissatisfied
  complaint angry upset unhappy furious | compliance compliant regulation | complicated complex difficult hard | concise short brief
  conclude conclusion result finding | confirm verify validate | confuse unclear understand | consumption usage use | contact reach
  contract agreement lease terms clause sign | contradict dispute | conversion convert funnel signup | correlation relation link association connection
  cover include | crash die kill | credit loan debt | crisis emergency urgent | critic criticize feedback | customers users clients
  cut reduce reduction save lower | daily weekly monthly regular | danger hazard risk | dashboard chart metric report
  data dataset spreadsheet csv table numbers excel | database table schema sql query | date day calendar | deadline due date
  deal sale opportunity pipeline | deal contract sale | debt owe overdue unpaid late | decide decision choose choice chose agreed pick select
  deck slides presentation pitch | decline decrease drop fall lower less fewer | definition define meaning | delay late behind slip overdue
  delete remove erase forget | deliver delivery shipment | demand orders sales need | demonstrate demo show | department team unit
  deploy release rollout ship launch | deposit payment installment | detect find discover spot | diagnose analyze investigate debug
  differ difference changed | disk memory ram storage | dispute disagree conflict | disturb interrupt | doctor patient clinic hospital
  document file pdf paper | download upload file | draft write compose wording | drop fall decline decrease sink | early late soon
  earn income revenue turnover | edit proofread polish rewrite wording grammar | effect impact influence | effort work workload days
  elaborate detail explain | email mail message reply letter | employee staff worker personnel | employer company job | engineer developer programmer
  entry record row | equipment device machine hardware | essay article text | estimate guess forecast predict | examine look study
  exercise practice drill | exit leave quit churn | expand grow scale | expense receipt reimbursement claim | experiment trial variant test
  expert specialist | explain understand explanation concept meaning | explanation explain teach tell | expose leaked public
  extract pull fields values | fact claim true verify check rumor | facts evidence data | fake forged false counterfeit | false wrong untrue incorrect
  fault defect blame cause | feature function capability | feedback review comment opinion | figure number statistic | final finish complete
  finance financial money | fix repair solve resolve patch | flat lease rent apartment landlord tenant | follow chase remind
  food restaurant kitchen canteen | forecast predict projection expect future | formal polite tone | formula equation calculation
  friendly polite tone kind | fund invest | furious angry shouting upset | gather collect | goal objective target okr | goods product item
  grade score mark rate | grammar spelling typo mistake | guess estimate assume assumption | guide manual instructions howto tutorial documentation
  habit routine | handover shift duty oncall | headline title heading | health condition state | hire recruit job vacancy candidate position role
  hold delay pause | holiday vacation leave travel trip hotel | hour minute time | house home property | hypothesis assumption test
  identify find recognize | incorrect wrong error | increase grow raise rise more | index key query slow | individual person | inform tell communicate
  input output parameter | insight finding learning | inspect check look | install setup configure | instruct teach guide | insurance cover policy
  interest rate loan | interview conversation talk call | introduce introduction intro | invest budget spend | irrelevant relevant
  issue problem bug ticket | joint together | journal paper publication | journalist press media | justify reason argue | keyword search
  kickoff start project | kid child school | laptop computer device | launch release publish | law legal regulation statute | layoff dismissal
  leak breach expose stolen | learn study course teach curriculum | learn understand study | lecture talk course | legacy old code | legal law lawyer
  lesson learned retrospective | letter mail post | liability warranty guarantee | limit threshold maximum | listen interview
  loan mortgage credit borrow installment | location place office | log trace | loop iteration | lose loss lost | machine server host node
  magazine newspaper press | mail letter inbox | malware virus ransomware attack | margin profit markup | market industry | measure metric track
  meeting session call sit gathering | memo note message | mess messy chaos confusing | metric kpi measure number indicator
  migrate move switch replace | milestone phase stage step | minimum maximum limit | minutes notes protocol record scribbles | misleading wrong chart
  misspelled typo spelling | mistake error wrong | mobile phone app | money cash funds bank | month quarter year annual | mood satisfaction morale
  move migrate transfer | name rename | negative positive | negotiate bargain discount | news announcement press | night shift duty oncall
  noise false alarm | nonsense claim myth | normal usual baseline | notes scribbles transcript recording | nurse doctor | observe watch monitor
  offer proposal quote bid tender | office workplace | online web internet | open unresolved pending | operate run | opinion view feedback
  opposite contrary | optimize improve speed | option alternative candidate | organize arrange plan | outage incident downtime down disruption
  outline structure skeleton | pack package bundle | panel survey | paper study research literature | parent child | participate attend join invite
  partner supplier | passport identity | password credential access permission | past history | patient client | peak season holiday load
  people person who | percent percentage share | permission access right privilege role | phishing scam suspicious fake fraud | phrase wording sentence
  plain simple easy | poll survey vote | population sample | portion share part | possible feasible | postmortem cause blame aftermath
  postpone delay move | power influence | prepare ready | presentation slide deck talk | pretend impersonate phishing
  price cost charge fee expensive cheap rate | print output | prioritize priority urgent order first important rank | privacy personal gdpr data
  private personal confidential secret | procedure process steps | produce make create | product service offering | profile resume
  profit margin earnings | project initiative undertaking organize | prompt question | propose suggest offer | prospect lead inquiry buyer
  protect security safe | prove proof evidence | public release press | publish post release | punctuation grammar comma | purpose goal aim
  quality defect | quantity amount number | query sql select | questionnaire survey form questions poll | queue backlog waiting | quick fast speed
  quiz exam test questions | quote cite | random sample | range estimate between | rank order prioritize sort | ratio percentage share | react respond
  realistic estimate | rebuild restructure | receive get | reconcile match compare | recover recovery restore | refactor clean restructure messy tangle
  reference testimonial case | refund return money | refund compensation credit | regular routine | reject refuse decline | relative compared
  reliable trust credible | remote online | renew extend | repeat duplicate | reply answer respond response | report summary summarize tldr gist digest
  reproduce replicate | request demand ask | require need | resign leave quit | resource capacity staff | response answer reaction
  responsible owner accountable | restaurant cafe | result outcome finding | retire legacy old | retrospective lookback improve
  revenue sales income turnover | revert rollback undo | reword rewrite rephrase | ridiculous nonsense | rise grow increase growth | risk danger threat
  room space | rough estimate draft | rule policy guideline | runbook steps procedure playbook | safe secure security | salary wage pay compensation
  sample subset | save keep | scenario case | school class teacher pupil student | scope extent | scratch new | search find look
  secret password confidential | security attack hacker threat breach | sell sales | seller supplier vendor | send mail | senior junior | sense meaning
  sensitive confidential personal | sentence phrase text | sequence order | service support | severe severity critical | shop store retail
  shortage lack | sick absent absence illness | sign signature contract | significant significance statistical | simplify refactor | size large small
  skeptical doubt | sketch draft | skill ability competence | slow performance latency speed fast sluggish | smell suspicious | social media post
  software app application tool | solution fix | source evidence citation proof | spam phishing email | speaker talk | specification requirement
  speech talk presentation | spike peak rise jump | split divide | stable reliable | stakeholder interest | standard rule | statement claim
  status progress update report | steal theft stolen | stock inventory warehouse | strange weird odd suspicious | strategy plan | stress pressure
  student learner pupil | style tone | subscription plan renewal | success win | summarize shorten condense boil brief short | supplier vendor provider
  supply stock | support ticket helpdesk | surprise unexpected | symptom sign | system software | talk conversation speech
  task todo item chore job stuff | tax vat | team staff people colleague employee | technician engineer | temporary short | test unit coverage
  theme topic category | theory concept | threaten threat | throughput capacity | topic subject theme | track follow | trade market
  translate language english german spanish french | trend growth | trial experiment pilot | trick trap | trouble problem | tune optimize | tutor teach
  unclear vague | unsubscribe cancel churn | upgrade update | usable usability | valid check | value worth | version draft revision | version edition
  video recording | visual chart | volume amount | vulnerability cve patch flaw hole | vulnerable vulnerability | wait delay | weak strength
  website site web | week days | weigh compare | win won lose lost | workshop meeting | writer author
`;

const related = new Map<string, Set<string>>();
for (const group of GROUPS.split(/[|\n]/)) {
  const stems = new Set(group.split(' ').filter(Boolean).map(stemOf));
  for (const stem of stems) {
    const others = related.get(stem) ?? new Set<string>();
    for (const other of stems) if (other !== stem) others.add(other);
    related.set(stem, others);
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Terms (`termsOf`) of a meaning that is near to that of a term. */
export function relatedTerms(term: string): ReadonlySet<string> {
  return related.get(term) ?? NONE;
}
