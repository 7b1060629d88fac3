import type { Lexicon } from '../concept.ts';

/** Russian. */
export const russian: Lexicon = {
  override:
    'игнорируй*, проигнорируй*, забудь*, отбрось*, пренебреги*, обойди, обойдите, отмени*, не следуй*, не обращай внимания на, перестань следовать, перестань соблюдать, отключи*, нарушь, удали, сотри, не соблюдай, не выполняй, сбрось, отбросить, игнорировать, забыть, обойти, выключи',
  overrideLast:
    'больше не действуют, отменены, больше не действует, не действительны, больше не применяются, утратили силу, недействительны, игнорируй*, забудь*',
  prior:
    'предыдущ*, прошлы*, выше, вышеуказанн*, прежни*, ранее, исходн*, изначальн*, первоначальн*, вышестоящи*, до этого, предшествующ*, данные тебе',
  rules:
    'инструкци*, правил*, указани*, команд*, директив*, ограничени*, приказ*, промпт*, промт*, установк*, запрет*, фильтр*, политик*, предписани*',
  prompt:
    'системный промпт, системного промпта, системный промт, системного промта, системные инструкции, системных инструкций, системную инструкцию, системное сообщение, системную подсказку, скрытые инструкции, скрытых инструкций, секретные инструкции, начальные инструкции, изначальные инструкции, исходные инструкции, исходный промпт, начальный промпт, внутренние инструкции, внутренние правила, скрытые правила, секретные правила, первоначальные инструкции, скрытый промпт, системные указания, внутренние указания, системном промпте',
  aboveText:
    'всё выше, весь текст выше, текст выше, всё что выше, всё что написано выше, всё что было до этого, весь контекст, все что тебе сказали, всё сказанное выше, всё что было сказано',
  your: 'твои, твой, твоего, твоих, твоему, твоё, ваши, ваш, вашего, ваших, свои, свой, своих, своего, тебе дали, данные тебе, которые ты получил, тебе заданы',
  my: 'мои, мой, моё, моих, моего, мою, я сказал*, я писал*, я написал*, наши, наш, наших',
  all: 'все, всё, всех, любые, всю, весь, каждое',
  reveal:
    'покажи*, раскрой*, выведи*, повтори*, напечатай*, скажи*, напиши*, назови*, выдай*, процитируй*, перескажи*, каковы, какие у тебя, что написано, какой у тебя, поделись, переведи*, скопируй*, опиши*, перечисли*, распечатай*, открой, сообщи*, дай, продублируй, озвучь',
  revealLast: 'показать, раскрыть, вывести, повторить, процитировать',
  verbatim:
    'дословно, слово в слово, полностью, целиком, буквально, точно, в блоке кода, без изменений, ничего не пропуская, без сокращений, один в один',
  role: 'теперь ты, ты теперь, ты больше не, отныне ты, отныне, с этого момента, с этой минуты, притворись*, представь что ты, веди себя как, действуй как, играй роль, сыграй роль, вообрази что ты, отвечай как, включи режим, активируй*, перейди в режим, стань, войди в роль, включи, прикинься, вы теперь, представьте что вы',
  unbound:
    'без ограничений, без каких либо ограничений, без всяких ограничений, без правил, без фильтров, без цензуры, без запретов, нет ограничений, нет правил, нет никаких ограничений, нет никаких правил, никаких ограничений, никаких правил, никаких фильтров, неограниченн*, режим разработчика, режима разработчика, без морали, без этики, без моральных, никогда не отказывает*, можешь всё, можешь делать всё, свободен от, режим бога, снял все ограничения, не знает запретов, нецензурируем*, без этических',
  ethics: 'этик*, этическ*, морал*, цензур*, безопасност*, политику контента',
  not: 'не, никогда, нельзя, без',
  follow: 'следуй*, выполни*, исполни*, подчиняйся, сделай то что, выполняй*',
  fresh:
    'новые инструкции, новая инструкция, новая задача, новые правила, новое задание, вместо этого, настоящая задача, следуй только, слушай только',
  send: 'отправь*, отправить, перешли*, пошли*, загрузи*, передай*, опубликуй*, вышли*, перенаправь*, скинь',
  private:
    'переписк*, истори* чата, историю чата, историю диалога, диалог, разговор*, беседу, парол*, секрет*, учетные данные, ключ*, токен*, данные пользователя, личные данные, персональные данные, конфиденциальн*, данные клиентов, историю переписки, данные карты',
  destination: 'этот адрес, на адрес, по адресу, эту ссылку',
  reader:
    'ии, ии ассистент*, ии модел*, ии агент*, языковая модель, языковых моделей, языковой модели, нейросет*, если ты ии, если вы ии, ассистент*, искусственный интеллект',
  hide: 'не говори пользователю, не сообщай пользователю, не сообщай об этом, не упоминай, не упоминая, без ведома, незаметно, втайне, тайно, скрытно, не рассказывай, не спрашивай пользователя, без подтверждения, не предупреждая, не говорите пользователю',
  mention:
    'атак*, злоумышленник*, обнаруж*, защит*, предотвра*, фраз*, например, пример*, перевод*, переведи*, что означает, что значит, объясни*, как работает, кто то, безопасност*, статья, статью, пользователь пишет, студент*, цитат*, предложение, как мне, как можно',
  call: 'вызови инструмент, используй инструмент, выполни команду, запусти команду, открой ссылку, перейди по',
  decode: 'расшифруй*, декодируй*, раскодируй*',
  harmless:
    'не забудь*, не забывай*, не игнорируй*, нельзя игнорировать, нельзя забывать, забудь об этом, системный промпт для, мой системный промпт',
};

/** Polish. */
export const polish: Lexicon = {
  override:
    'zignoruj*, ignoruj*, zapomnij*, pomiń, pomińcie, pomijaj, obejdź, zlekceważ, nie przestrzegaj, nie stosuj się, przestań przestrzegać, przestań stosować, anuluj, wyłącz, odrzuć, złam, usuń, nadpisz, porzuć, nie zważaj na, dezaktywuj',
  overrideLast:
    'już nie obowiązują, nie obowiązują, są anulowane, zostały anulowane, tracą ważność, przestają obowiązywać',
  prior:
    'poprzedni*, wcześniejsz*, powyższ*, wcześniej, powyżej, pierwotn*, początkow*, dotychczasow*, oryginaln*, uprzedni*, otrzymane, istniejące',
  rules:
    'instrukcj*, zasad*, reguł*, polece*, wytyczn*, ogranicze*, rozkaz*, dyrektyw*, prompt*, filtr*, zakaz*, nakaz*, regulamin*',
  prompt:
    'prompt systemowy, promptu systemowego, prompt systemu, systemowy prompt, systemowego promptu, wiadomość systemową, instrukcje systemowe, instrukcji systemowych, ukryte instrukcje, ukrytych instrukcji, tajne instrukcje, początkowe instrukcje, pierwotne instrukcje, wewnętrzne instrukcje, wewnętrzne zasady, początkowy prompt, ukryty prompt, ukryte zasady, oryginalne instrukcje, poufne instrukcje, wewnętrznych instrukcji, pierwotny prompt',
  aboveText:
    'wszystko powyżej, tekst powyżej, cały tekst powyżej, wszystko co powyżej, wszystko co było wcześniej, cały kontekst, wszystko co ci powiedziano, wszystko co napisano powyżej',
  your: 'twój, twoje, twoich, twojego, twoja, swój, swoje, swoich, swojego, otrzymałeś, ci dano, które ci, które dostałeś',
  my: 'mój, moje, moich, mojego, moją, powiedziałem, napisałem, nasze, naszych',
  all: 'wszystkie, wszystko, wszystkich, każde, wszelkie, wszelkich',
  reveal:
    'pokaż*, ujawnij*, wyświetl*, powtórz*, wypisz*, wydrukuj*, podaj*, napisz*, zdradź*, powiedz*, jakie są, jaki jest, co zawiera, jak brzmi, jak brzmią, przetłumacz*, skopiuj*, zacytuj*, wymień*, opisz*, udostępnij*, przepisz*, wklej*, streść, odsłoń',
  verbatim:
    'słowo w słowo, dosłownie, dokładnie, w całości, w bloku kodu, bez zmian, co do słowa, niczego nie pomijając, pełną treść, słowo po słowie',
  role: 'jesteś teraz, teraz jesteś, od teraz jesteś, od teraz, od tej chwili, od tej pory, udawaj*, wciel się, zachowuj się jak, działaj jako, wyobraź sobie że jesteś, odpowiadaj jako, odgrywaj rolę, zagraj rolę, włącz tryb, aktywuj*, przejdź w tryb, nie jesteś już, stań się',
  unbound:
    'bez ograniczeń, bez żadnych ograniczeń, bez jakichkolwiek ograniczeń, bez zasad, bez żadnych zasad, bez filtrów, bez cenzury, bez reguł, żadnych ograniczeń, żadnych zasad, nie masz ograniczeń, nie ma ograniczeń, nieograniczon*, nieocenzurowan*, tryb deweloper*, tryb programisty, tryb boga, bez moralności, bez etyki, bez etycznych, nigdy nie odmawia*, możesz wszystko, wolny od, bez hamulców',
  ethics: 'etyk*, etyczn*, moraln*, cenzur*, bezpieczeństw*',
  not: 'nie, nigdy, bez',
  follow: 'wykonaj*, przestrzegaj, stosuj się, słuchaj, zrób to co, wykonuj',
  fresh:
    'nowe instrukcje, nowa instrukcja, nowe zadanie, nowe zasady, zamiast tego, prawdziwe zadanie, słuchaj tylko, wykonuj tylko',
  send: 'wyślij*, prześlij*, przekaż*, opublikuj*, załaduj*, dołącz*, wyślij',
  private:
    'rozmow*, historię czatu, historii czatu, hasł*, dane logowania, poświadczenia, klucz*, sekret*, tajne dane, dane użytkownika, danych użytkownika, dane osobowe, poufne, poufnych, token*, dane klientów, numer karty',
  destination: 'ten adres, na adres, pod adres, ten link',
  reader:
    'asystent ai, asystenci ai, model językowy, modele językowe, jeśli jesteś ai, sztuczna inteligencja, asystent*, agenci ai, agent ai, modelu językowego',
  hide: 'nie mów użytkownikowi, nie mów o tym, nie informuj użytkownika, bez wiedzy, nie wspominaj, nie wspominając, potajemnie, po cichu, bez potwierdzenia, nie pytaj użytkownika, w tajemnicy, bez informowania',
  mention:
    'atak*, atakuj*, wykry*, zapobie*, chroni*, ochron*, zdania takie, zdanie, na przykład, przykład*, przetłumacz*, tłumacz*, co znaczy, co oznacza, wyjaśnij*, jak działa, ktoś, bezpieczeństw*, artykuł*, jak mogę, studenc*, cytat*, fraz*',
  call: 'wywołaj narzędzie, użyj narzędzia, wykonaj polecenie, uruchom polecenie, otwórz adres, odwiedź',
  decode: 'odkoduj*, zdekoduj*, odszyfruj*, rozszyfruj*',
  harmless:
    'nie zapomnij*, nie zapominaj*, nie ignoruj*, nie pomijaj*, zapomnij o tym, mój prompt systemowy, prompt systemowy dla, zasady gry, zasadach gry',
};
